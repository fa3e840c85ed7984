// The runtime's functions that allocate and describe memory.

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/devices.h"
#include "tests/nccl/cuda/runtime/failure.h"
#include "tests/nccl/cuda/runtime/memory/reachable_memory.h"

using fake_cuda::BeginCudaCall;
using fake_cuda::BeginQuery;
using fake_cuda::MemoryKind;
using fake_cuda::RecordError;

namespace {

// Frees memory. Waits for all work of the device, as the real calls do, whatever the memory was
// used for. Behind a kernel that hangs, the call hangs too.
cudaError_t Free(void* pointer, MemoryKind kind) {
  if (pointer == nullptr) return cudaSuccess;
  fake_cuda::AwaitIdle(fake_cuda::FindAllocation(pointer, kind).allocation.device);
  // On a failed device, a kernel may still run on the CPU and use the memory.
  if (fake_cuda::Failure() != cudaSuccess) return fake_cuda::Failure();
  fake_cuda::Release(pointer, kind);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t size) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::SynchronizeImplicitly();
  return RecordError(fake_cuda::Allocate(pointer, size, MemoryKind::kDevice));
}

cudaError_t cudaFree(void* pointer) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  const auto region = fake_cuda::FindRegion(pointer);
  const bool from_pool = region && region->allocation.kind == MemoryKind::kPool;
  return RecordError(Free(pointer, from_pool ? MemoryKind::kPool : MemoryKind::kDevice));
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::SynchronizeImplicitly();
  return RecordError(fake_cuda::Allocate(pointer, size, MemoryKind::kPinned));
}

cudaError_t cudaMallocHost(void** pointer, size_t size) { return cudaHostAlloc(pointer, size, 0); }

cudaError_t cudaFreeHost(void* pointer) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  return RecordError(Free(pointer, MemoryKind::kPinned));
}

// Registered memory keeps its address on the device.
cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned int) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::SynchronizeImplicitly();
  const bool added =
      fake_cuda::AddRegion(pointer, {size, MemoryKind::kRegistered, cudaMemoryTypeHost,
                                     fake_cuda::CurrentDevice(), static_cast<char*>(pointer), -1});
  return RecordError(added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* pointer) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  const auto region = fake_cuda::FindRegion(pointer);
  if (!region || region->allocation.kind != MemoryKind::kRegistered) {
    return RecordError(cudaErrorHostMemoryNotRegistered);
  }
  fake_cuda::AwaitIdle(region->allocation.device);
  fake_cuda::RemoveRegion(pointer);
  return RecordError(fake_cuda::Failure());
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  const auto region = fake_cuda::FindRegion(host_pointer);
  if (!region || region->allocation.type != cudaMemoryTypeHost) {
    return RecordError(cudaErrorInvalidValue);
  }
  *device_pointer = host_pointer;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  *total = fake_cuda::DeviceMemory();
  *free = *total - fake_cuda::InUse(fake_cuda::CurrentDevice());
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (cudaError_t error = BeginQuery(__func__); error != cudaSuccess) return RecordError(error);
  void* const address = const_cast<void*>(pointer);
  *attributes = cudaPointerAttributes();
  attributes->type = cudaMemoryTypeUnregistered;
  attributes->device = cudaInvalidDeviceId;
  attributes->hostPointer = address;
  const auto region = fake_cuda::FindRegion(pointer);
  if (!region) return cudaSuccess;
  attributes->type = region->allocation.type;
  attributes->device = region->allocation.device;
  attributes->devicePointer = address;
  if (region->allocation.type == cudaMemoryTypeDevice) attributes->hostPointer = nullptr;
  return cudaSuccess;
}

}  // extern "C"
