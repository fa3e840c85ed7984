#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_CONTEXT_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_CONTEXT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

// The primary contexts of the process, and which of them each thread uses. On a real GPU an open
// context takes some 500 MB, so tests check which call opens a context on which device.
struct CUctx_st {
  int device = 0;
};

namespace fake_cuda {

// Begins a call that needs the context of the thread's device, and opens it if the thread has none.
// A thread that has never set a device uses device 0. Returns the error that the call must return,
// or cudaSuccess.
cudaError_t BeginCudaCall(const char* function);

// Begins a call that CUDA answers without a context.
cudaError_t BeginQuery(const char* function);

// Returns the calling thread's device.
int CurrentDevice();

// Makes a device current for the calling thread, and opens its context.
void SetCurrentDevice(int device);

// Returns the calling thread's context, or null before its first call that needs one.
CUctx_st* CurrentContext();
void SetCurrentContext(CUctx_st* context);

CUctx_st* ContextOf(int device);
bool IsOpen(int device);

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_CONTEXT_H_
