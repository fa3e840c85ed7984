#include "tests/nccl/fake/cudart/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/nccl/fake/fake_cuda.h"

namespace fake_cuda {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr ErrorText kTexts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
};

const ErrorText* Find(cudaError_t error) {
  for (const ErrorText& entry : kTexts) {
    if (entry.error == error) return &entry;
  }
  return nullptr;
}

}  // namespace

cudaError_t Return(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void Violation(const char* format, ...) {
  std::fprintf(stderr, "fake CUDA/NCCL: VIOLATION: ");
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "\n");
  std::fflush(stderr);
  std::abort();
}

}  // namespace fake_cuda

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(fake_cuda::last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return fake_cuda::last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  const fake_cuda::ErrorText* entry = fake_cuda::Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const fake_cuda::ErrorText* entry = fake_cuda::Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->text;
}

}  // extern "C"
