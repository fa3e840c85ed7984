#ifndef MUSTER_TESTS_GPU_CHECKS_GPU_DEVICE_H_
#define MUSTER_TESTS_GPU_CHECKS_GPU_DEVICE_H_

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#define RETURN_IF_ERROR(expression)                                      \
  do {                                                                   \
    if (absl::Status status = (expression); !status.ok()) return status; \
  } while (false)

namespace muster::gpu {

inline absl::Status CudaStatus(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(what, ": ", cudaGetErrorString(error)));
}

inline absl::Status NcclStatus(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(what, ": ", ncclGetErrorString(result)));
}

// Elements in the current device's memory.
template <class T>
class DeviceArray {
 public:
  static absl::StatusOr<DeviceArray> Make(size_t count) {
    void* data = nullptr;
    RETURN_IF_ERROR(CudaStatus(cudaMalloc(&data, count * sizeof(T)), "cudaMalloc"));
    return DeviceArray(static_cast<T*>(data), count);
  }
  static absl::StatusOr<DeviceArray> Of(const std::vector<T>& values) {
    absl::StatusOr<DeviceArray> array = Make(values.size());
    if (!array.ok()) return array;
    RETURN_IF_ERROR(array->CopyFrom(values));
    return array;
  }

  T* data() const { return data_.get(); }
  size_t size() const { return size_; }

  absl::Status CopyFrom(const std::vector<T>& values) {
    return CudaStatus(
        cudaMemcpy(data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
        "cudaMemcpy to the device");
  }
  absl::StatusOr<std::vector<T>> Values() const {
    std::vector<T> values(size_);
    RETURN_IF_ERROR(
        CudaStatus(cudaMemcpy(values.data(), data(), size_ * sizeof(T), cudaMemcpyDeviceToHost),
                   "cudaMemcpy from the device"));
    return values;
  }

 private:
  struct Free {
    void operator()(T* data) const { cudaFree(data); }
  };
  DeviceArray(T* data, size_t size) : data_(data), size_(size) {}

  std::unique_ptr<T, Free> data_;
  size_t size_;
};

// A stream of the current device that does not wait for the default stream.
class Stream {
 public:
  static absl::StatusOr<Stream> Make() {
    cudaStream_t stream = nullptr;
    RETURN_IF_ERROR(CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                               "cudaStreamCreateWithFlags"));
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

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_CHECKS_GPU_DEVICE_H_
