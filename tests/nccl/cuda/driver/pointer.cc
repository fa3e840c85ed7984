// Attributes of pointers, as the driver answers them.

#include <optional>

#include "tests/nccl/cuda/driver/entry_points.h"
#include "tests/nccl/cuda/driver/physical_memory.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/memory/reachable_memory.h"

namespace fake_cuda::driver {
namespace {

const void* ToPointer(CUdeviceptr pointer) { return reinterpret_cast<const void*>(pointer); }

unsigned MemoryTypeOf(const Allocation& allocation) {
  return allocation.type == cudaMemoryTypeDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

// Returns how the memory can be exported. Only memory of cuMemCreate() can be exported as a file
// descriptor.
unsigned long long HandleTypesOf(CUdeviceptr pointer) {
  CUmemGenericAllocationHandle handle = 0;
  if (MemRetainAllocationHandle(&handle, reinterpret_cast<void*>(pointer)) != CUDA_SUCCESS) {
    return CU_MEM_HANDLE_TYPE_NONE;
  }
  const auto types = MemoryOf(handle)->properties.requestedHandleTypes;
  MemRelease(handle);
  return types;
}

}  // namespace

CUresult MemGetAddressRange(CUdeviceptr* base, size_t* size, CUdeviceptr pointer) {
  const std::optional<Region> region = FindRegion(ToPointer(pointer));
  if (!region) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = region->address;
  if (size != nullptr) *size = region->allocation.size;
  return CUDA_SUCCESS;
}

CUresult PointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const std::optional<Region> region = FindRegion(ToPointer(pointer));
  if (!region) return CUDA_ERROR_INVALID_VALUE;
  const Allocation& allocation = region->allocation;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = MemoryTypeOf(allocation);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = allocation.device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<bool*>(value) = allocation.kind == MemoryKind::kDevice;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      *static_cast<unsigned long long*>(value) = HandleTypesOf(pointer);
      return CUDA_SUCCESS;
    default:
      Violation("cuPointerGetAttribute asks for attribute %d, which is not modelled",
                static_cast<int>(attribute));
  }
}

}  // namespace fake_cuda::driver
