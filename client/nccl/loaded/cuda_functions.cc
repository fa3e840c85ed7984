// The functions of the CUDA runtime that client/nccl calls, as calls of the loaded runtime. They
// fail until it is loaded. All exist in every runtime of CUDA 12 and 13, with the same parameters,
// except the optional one.

#include <cuda_runtime_api.h>

#include "client/nccl/loaded/loaded_library.h"
#include "client/nccl/loaded/machine_libraries.h"

using muster::internal::CudaRuntime;
using muster::internal::LoadedFunction;
using muster::internal::LoadedLibrary;
using muster::internal::Presence;

namespace muster::internal {

// Prefers CUDA 12: every driver that can run CUDA 13 runs both.
LoadedLibrary& CudaRuntime() {
  static auto& library = *new LoadedLibrary({"libcudart.so.12", "libcudart.so.13"});
  return library;
}

}  // namespace muster::internal

namespace {

const LoadedFunction<decltype(cudaGetErrorName)> error_name(CudaRuntime(), "cudaGetErrorName");
const LoadedFunction<decltype(cudaGetErrorString)> error_text(CudaRuntime(), "cudaGetErrorString");

}  // namespace

extern "C" {

const char* cudaGetErrorName(cudaError_t error) {
  return error_name.get() == nullptr ? "no CUDA runtime" : error_name.get()(error);
}

const char* cudaGetErrorString(cudaError_t error) {
  return error_text.get() == nullptr ? "the CUDA runtime is not loaded" : error_text.get()(error);
}

// Defines a function that returns an error.
#define FORWARD(presence, function, parameters, arguments)                                    \
  static const LoadedFunction<decltype(function)> loaded_##function(CudaRuntime(), #function, \
                                                                    Presence::presence);      \
  cudaError_t function parameters {                                                           \
    if (loaded_##function.get() == nullptr) return cudaErrorInitializationError;              \
    return loaded_##function.get() arguments;                                                 \
  }

FORWARD(kRequired, cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags),
        (event, flags))
FORWARD(kRequired, cudaEventDestroy, (cudaEvent_t event), (event))
FORWARD(kRequired, cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
FORWARD(kRequired, cudaFree, (void* memory), (memory))
FORWARD(kRequired, cudaFreeAsync, (void* memory, cudaStream_t stream), (memory, stream))
FORWARD(kRequired, cudaGetDevice, (int* device), (device))
FORWARD(kRequired, cudaGetDeviceCount, (int* count), (count))
FORWARD(kOptional, cudaGetDriverEntryPointByVersion,
        (const char* name, void** function, unsigned int version, unsigned long long flags,
         cudaDriverEntryPointQueryResult* result),
        (name, function, version, flags, result))  // since CUDA 12.5
FORWARD(kRequired, cudaGetLastError, (), ())
FORWARD(kRequired, cudaMalloc, (void** memory, size_t bytes), (memory, bytes))
FORWARD(kRequired, cudaMallocAsync, (void** memory, size_t bytes, cudaStream_t stream),
        (memory, bytes, stream))
FORWARD(kRequired, cudaMemGetInfo, (size_t * free, size_t* total), (free, total))
FORWARD(kRequired, cudaMemcpyAsync,
        (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
        (to, from, bytes, kind, stream))
FORWARD(kRequired, cudaMemsetAsync, (void* memory, int value, size_t bytes, cudaStream_t stream),
        (memory, value, bytes, stream))
FORWARD(kRequired, cudaPointerGetAttributes,
        (cudaPointerAttributes * attributes, const void* pointer), (attributes, pointer))
FORWARD(kRequired, cudaRuntimeGetVersion, (int* version), (version))
FORWARD(kRequired, cudaSetDevice, (int device), (device))
FORWARD(kRequired, cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags),
        (stream, flags))
FORWARD(kRequired, cudaStreamDestroy, (cudaStream_t stream), (stream))
FORWARD(kRequired, cudaStreamQuery, (cudaStream_t stream), (stream))
FORWARD(kRequired, cudaStreamWaitEvent,
        (cudaStream_t stream, cudaEvent_t event, unsigned int flags), (stream, event, flags))

}  // extern "C"
