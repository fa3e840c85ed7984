#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_FAILURE_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_FAILURE_H_

#include <cuda_runtime_api.h>

namespace fake_cuda {

// Returns the error of FailDevice(), which every later call returns too, or cudaSuccess.
cudaError_t Failure();

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_FAILURE_H_
