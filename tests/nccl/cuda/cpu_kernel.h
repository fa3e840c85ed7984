#ifndef MUSTER_TESTS_NCCL_CUDA_CPU_KERNEL_H_
#define MUSTER_TESTS_NCCL_CUDA_CPU_KERNEL_H_

#include <cstddef>

// The contract for libraries that bring kernels for the stand-in GPU. On a real GPU, the address of
// a kernel's symbol (`__global__ void K(...)`) leads the driver to the GPU's code. On the stand-in,
// it is a function of the CPU with this signature, whatever the kernel's own parameters are:
//
//   extern "C" void MyKernel(const CpuLaunch* launch);
//
// cudaGetFuncBySymbol() turns the address into a handle, and cuLaunchKernelEx() enqueues a call of
// it. The arguments are one buffer (CU_LAUNCH_PARAM_BUFFER_POINTER). The call runs on the thread of
// its stream, after the stream's earlier work. The stream's later work begins when the call
// returns. A kernel may block to wait for a peer, as on a GPU.
extern "C" {

typedef struct CpuLaunch {
  unsigned grid[3];       // blocks
  unsigned block[3];      // threads of a block
  const void* arguments;  // a copy of the kernel's parameters, valid until the kernel returns
  size_t argument_bytes;

  // Returns where the bytes behind a pointer lie in this process. The pointer is a device pointer,
  // or points to pinned or registered host memory. Returns null if the GPU cannot reach the whole
  // range, for example because it is pageable host memory. Thread-safe. The look-up is slow, so a
  // kernel looks an address up once.
  void* (*reach)(const void* pointer, size_t bytes);
} CpuLaunch;

typedef void (*CpuKernel)(const CpuLaunch* launch);

}  // extern "C"

#endif  // MUSTER_TESTS_NCCL_CUDA_CPU_KERNEL_H_
