#include "tests/nccl/cuda/runtime/stream/kernel.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/environment.h"
#include "tests/nccl/cuda/runtime/memory/reachable_memory.h"
#include "tests/nccl/cuda/runtime/stream/event.h"
#include "tests/nccl/cuda/runtime/stream/stream.h"

namespace fake_cuda {
namespace {

void* ReachFromKernel(const void* pointer, size_t bytes) { return Reach(pointer, bytes); }

void Run(const KernelLaunch& launch) {
  CpuLaunch call = {};
  for (int i = 0; i < 3; ++i) {
    call.grid[i] = launch.grid[i];
    call.block[i] = launch.block[i];
  }
  call.arguments = launch.arguments.data();
  call.argument_bytes = launch.arguments.size();
  call.reach = ReachFromKernel;
  reinterpret_cast<CpuKernel>(const_cast<void*>(launch.symbol))(&call);
}

const char* NameOf(const void* symbol) {
  Dl_info info;
  const bool found = dladdr(symbol, &info) != 0 && info.dli_sname != nullptr;
  return found ? info.dli_sname : "?";
}

}  // namespace

void LoadKernel(const void* symbol) {
  static std::mutex mutex;
  static auto* const kLoaded = new std::set<const void*>();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!kLoaded->insert(symbol).second) return;
  }
  SynchronizeImplicitly();
}

cudaError_t LaunchKernel(KernelLaunch launch) {
  const CUstream_st* const stream = FindStream(launch.stream);
  if (stream->device != CurrentDevice()) return cudaErrorInvalidResourceHandle;
  LoadKernel(launch.symbol);
  Trace("kernel %s on device %d, stream %llu: %u blocks, %zu bytes of arguments",
        NameOf(launch.symbol), stream->device, static_cast<unsigned long long>(stream->queue->id()),
        launch.grid[0], launch.arguments.size());
  if (launch.begun != nullptr) {
    SetRecord(launch.begun, Enqueue(FindStream(launch.stream), [] {}));
  }
  const cudaStream_t where = launch.stream;
  const auto shared = std::make_shared<const KernelLaunch>(std::move(launch));
  Launch({where}, [shared] { Run(*shared); });
  return cudaSuccess;
}

}  // namespace fake_cuda

using fake_cuda::BeginCudaCall;
using fake_cuda::RecordError;

extern "C" {

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  *function = static_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* symbol) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  if (symbol == nullptr) return RecordError(cudaErrorInvalidDeviceFunction);
  fake_cuda::LoadKernel(symbol);
  *attributes = cudaFuncAttributes();
  attributes->maxThreadsPerBlock = 1024;
  attributes->binaryVersion = 90;
  attributes->ptxVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* symbol, cudaFuncAttribute, int) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::LoadKernel(symbol);
  return cudaSuccess;
}

// Not supported. These two calls pass one pointer for each argument, and only the GPU's code knows
// the sizes.
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  fake_cuda::Violation("cudaLaunchKernel is not modelled: use cuLaunchKernelEx");
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**) {
  fake_cuda::Violation("cudaLaunchKernelExC is not modelled: use cuLaunchKernelEx");
}

}  // extern "C"
