#ifndef MUSTER_TESTS_CLIENT_NCCL_RANK_CHECKED_DEVICE_MEMORY_H_
#define MUSTER_TESTS_CLIENT_NCCL_RANK_CHECKED_DEVICE_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/client/nccl/rank/typed_numbers.h"

namespace muster::testing {

// Ends the process if a call fails that cannot fail in a test.
inline void CheckCuda(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::cout << "CUDA failed: " << cudaGetErrorString(error) << std::endl;
  std::abort();
}

// Device memory with elements of one type, on the current device.
class DeviceMemory {
 public:
  DeviceMemory(DataType type, const std::vector<double>& numbers)
      : type_(type), bytes_(numbers.size() * InfoOf(type).size) {
    CheckCuda(cudaMalloc(&data_, bytes_));
    CheckCuda(cudaMemcpy(data_, Encode(type, numbers).data(), bytes_, cudaMemcpyHostToDevice));
  }
  ~DeviceMemory() { CheckCuda(cudaFree(data_)); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* get() const { return data_; }
  // Returns the address of an element.
  char* at(size_t index) const { return static_cast<char*>(data_) + index * InfoOf(type_).size; }

  std::vector<double> numbers() const {
    std::string bytes(bytes_, '\0');
    CheckCuda(cudaMemcpy(bytes.data(), data_, bytes_, cudaMemcpyDeviceToHost));
    return Decode(type_, bytes);
  }

 private:
  const DataType type_;
  const size_t bytes_;
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream() { CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { CheckCuda(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_RANK_CHECKED_DEVICE_MEMORY_H_
