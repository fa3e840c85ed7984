#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_CUDA_ERROR_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_CUDA_ERROR_H_

#include <cuda_runtime_api.h>

namespace fake_cuda {

// Keeps an error for cudaGetLastError, and returns it. As in the real runtime, it also keeps a
// query's "not ready".
cudaError_t RecordError(cudaError_t error);

// Returns the error that FAKE_CUDA_ERRORS injects into this call of a function, or cudaSuccess.
cudaError_t InjectedError(const char* function);

// Returns why no call can work in this process (no driver, no device), or cudaSuccess.
cudaError_t RuntimeState();

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_CUDA_ERROR_H_
