// Memory pools. They allocate and free in the order of a stream, and never wait for the device.

#include <cstdint>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/memory/reachable_memory.h"
#include "tests/nccl/cuda/runtime/stream/stream.h"

// The type behind cudaMemPool_t.
struct CUmemPoolHandle_st {
  int device = 0;
  uint64_t release_threshold = 0;
};

using fake_cuda::BeginCudaCall;
using fake_cuda::MemoryKind;
using fake_cuda::RecordError;

extern "C" {

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  if (properties->location.type != cudaMemLocationTypeDevice)
    return RecordError(cudaErrorNotSupported);
  *pool = new CUmemPoolHandle_st{properties->location.id, 0};
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  delete pool;
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  if (attribute != cudaMemPoolAttrReleaseThreshold) {
    fake_cuda::Violation("cudaMemPoolSetAttribute sets attribute %d, which is not modelled",
                         static_cast<int>(attribute));
  }
  pool->release_threshold = *static_cast<uint64_t*>(value);
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  return RecordError(fake_cuda::Allocate(pointer, size, MemoryKind::kPool));
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  if (pool->device != fake_cuda::CurrentDevice()) return RecordError(cudaErrorInvalidValue);
  return cudaMallocAsync(pointer, size, stream);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  if (pointer == nullptr) return cudaSuccess;
  fake_cuda::FindAllocation(pointer, MemoryKind::kPool);
  fake_cuda::Enqueue(fake_cuda::FindStream(stream),
                     [pointer] { fake_cuda::Release(pointer, MemoryKind::kPool); });
  return cudaSuccess;
}

}  // extern "C"
