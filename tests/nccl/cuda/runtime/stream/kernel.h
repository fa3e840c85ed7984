#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_KERNEL_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_KERNEL_H_

#include <cuda_runtime_api.h>

#include <vector>

#include "tests/nccl/cuda/cpu_kernel.h"

// Kernels that are functions of the CPU (cpu_kernel.h).
namespace fake_cuda {

struct KernelLaunch {
  const void* symbol = nullptr;
  unsigned grid[3] = {};
  unsigned block[3] = {};
  std::vector<char> arguments;
  cudaStream_t stream = nullptr;
  cudaEvent_t begun = nullptr;  // recorded when the kernel begins; may be null
};

// Enqueues the kernel. Returns cudaErrorInvalidResourceHandle if the stream does not belong to the
// current device.
cudaError_t LaunchKernel(KernelLaunch launch);

// Loads the code of a kernel at its first use. This may wait for the device.
void LoadKernel(const void* symbol);

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_KERNEL_H_
