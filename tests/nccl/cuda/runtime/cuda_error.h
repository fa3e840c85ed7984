#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_CUDA_ERROR_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_CUDA_ERROR_H_

#include <cuda_runtime_api.h>

namespace fake_cuda {

// Keeps an error for cudaGetLastError, and returns it. As in the real runtime, the "not ready" of a
// query is kept too.
cudaError_t Return(cudaError_t error);

// The error that FAKE_CUDA_ERRORS wants of this call of a function; cudaSuccess where it wants
// none.
cudaError_t InjectedError(const char* function);

// Why no call can work in this process: no driver, no device. Else cudaSuccess.
cudaError_t RuntimeState();

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_CUDA_ERROR_H_
