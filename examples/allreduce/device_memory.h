#ifndef MUSTER_EXAMPLES_ALLREDUCE_DEVICE_MEMORY_H_
#define MUSTER_EXAMPLES_ALLREDUCE_DEVICE_MEMORY_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace allreduce {

inline absl::Status ToStatus(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot ", what, ": ", cudaGetErrorString(error)));
}

// Memory of the current device, freed with the object.
class DeviceMemory {
 public:
  DeviceMemory() = default;

  static absl::StatusOr<DeviceMemory> Make(size_t bytes) {
    void* data = nullptr;
    const absl::Status made =
        ToStatus(cudaMalloc(&data, bytes), absl::StrCat("allocate ", bytes, " bytes on the GPU"));
    if (!made.ok()) return made;
    return DeviceMemory(data, bytes);
  }

  void* get() const { return data_.get(); }

  absl::Status CopyFrom(const std::string& bytes) {
    return ToStatus(cudaMemcpy(get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
                    "copy to the GPU");
  }

  absl::StatusOr<std::string> Copy() const {
    std::string bytes(size_, '\0');
    const absl::Status copied = ToStatus(
        cudaMemcpy(bytes.data(), get(), size_, cudaMemcpyDeviceToHost), "copy from the GPU");
    if (!copied.ok()) return copied;
    return bytes;
  }

 private:
  struct Free {
    void operator()(void* data) const { cudaFree(data); }
  };
  DeviceMemory(void* data, size_t size) : data_(data), size_(size) {}

  std::unique_ptr<void, Free> data_;
  size_t size_ = 0;
};

// A stream of the current device, destroyed with the object.
class Stream {
 public:
  static absl::StatusOr<Stream> Make() {
    cudaStream_t stream = nullptr;
    const absl::Status made =
        ToStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a CUDA stream");
    if (!made.ok()) return made;
    return Stream(stream);
  }

  cudaStream_t get() const { return stream_.get(); }

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  };
  explicit Stream(cudaStream_t stream) : stream_(stream) {}

  std::unique_ptr<CUstream_st, Destroy> stream_;
};

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_DEVICE_MEMORY_H_
