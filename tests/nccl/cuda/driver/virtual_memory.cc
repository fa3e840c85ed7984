// Address ranges, and the memory that is mapped at them. The host has no access to device memory at
// its address. The stand-in reaches the memory at a second address, the view.

#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "tests/nccl/cuda/driver/entry_points.h"
#include "tests/nccl/cuda/driver/physical_memory.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/memory/reachable_memory.h"

namespace fake_cuda::driver {
namespace {

struct Mapping {
  PhysicalMemory* memory = nullptr;
  size_t size = 0;
  char* view = nullptr;
};

struct AddressSpace {
  std::mutex mutex;
  std::map<CUdeviceptr, size_t> reserved;
  std::map<CUdeviceptr, Mapping> mappings;
};

AddressSpace& Addresses() {
  static auto* const kAddresses = new AddressSpace();
  return *kAddresses;
}

void* ToPointer(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

// Reserves an inaccessible range of addresses. Returns null if there is none.
char* ReserveRange(size_t size, size_t alignment) {
  const size_t most = size + alignment;
  void* const begin =
      mmap(nullptr, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  char* const first = static_cast<char*>(begin);
  char* const aligned = first + (RoundUp(AddressOf(first), alignment) - AddressOf(first));
  if (aligned > first) munmap(first, aligned - first);
  munmap(aligned + size, first + most - (aligned + size));
  return aligned;
}

void MakeInaccessible(CUdeviceptr pointer, size_t size) {
  mmap(ToPointer(pointer), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
}

// Returns whether the range is reserved. The caller holds the lock.
bool IsReserved(const AddressSpace& addresses, CUdeviceptr pointer, size_t size) {
  auto it = addresses.reserved.upper_bound(pointer);
  if (it == addresses.reserved.begin()) return false;
  --it;
  return pointer + size <= it->first + it->second;
}

// Returns the mapping that begins at the address. The caller holds the lock.
Mapping* Find(AddressSpace& addresses, CUdeviceptr pointer) {
  const auto it = addresses.mappings.find(pointer);
  return it == addresses.mappings.end() ? nullptr : &it->second;
}

CUresult SetMappingAccess(CUdeviceptr pointer, const Mapping& mapping,
                          const CUmemAccessDesc& access) {
  const bool writes = access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (access.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    SetView(ToPointer(pointer),
            access.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? nullptr : mapping.view);
    return CUDA_SUCCESS;
  }
  if (IsOnDevice(*mapping.memory)) return CUDA_ERROR_INVALID_VALUE;
  mprotect(ToPointer(pointer), mapping.size, writes ? PROT_READ | PROT_WRITE : PROT_READ);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult MemAddressReserve(CUdeviceptr* pointer, size_t size, size_t alignment, CUdeviceptr,
                           unsigned long long) {
  const size_t least = alignment < PageSize() ? PageSize() : alignment;
  char* const range = ReserveRange(RoundUp(size, PageSize()), least);
  if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = AddressOf(range);
  const std::lock_guard<std::mutex> lock(Addresses().mutex);
  Addresses().reserved[*pointer] = RoundUp(size, PageSize());
  return CUDA_SUCCESS;
}

CUresult MemAddressFree(CUdeviceptr pointer, size_t size) {
  const std::lock_guard<std::mutex> lock(Addresses().mutex);
  const auto it = Addresses().reserved.find(pointer);
  if (it == Addresses().reserved.end() || it->second != RoundUp(size, PageSize())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto mapped = Addresses().mappings.lower_bound(pointer);
  if (mapped != Addresses().mappings.end() && mapped->first < pointer + size) {
    Violation("cuMemAddressFree of %zu bytes at %p, where memory is mapped", size,
              ToPointer(pointer));
  }
  munmap(ToPointer(pointer), it->second);
  Addresses().reserved.erase(it);
  return CUDA_SUCCESS;
}

CUresult MemMap(CUdeviceptr pointer, size_t size, size_t offset,
                CUmemGenericAllocationHandle handle, unsigned long long) {
  if (const CUresult error = State(); error != CUDA_SUCCESS) return error;
  PhysicalMemory* const memory = MemoryOf(handle);
  const std::lock_guard<std::mutex> lock(Addresses().mutex);
  if (offset + size > memory->size || !IsReserved(Addresses(), pointer, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool on_device = IsOnDevice(*memory);
  const Allocation allocation = {size, MemoryKind::kVirtual,
                                 on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost,
                                 on_device ? memory->properties.location.id : 0};
  if (!AddRegion(ToPointer(pointer), allocation)) return CUDA_ERROR_INVALID_VALUE;
  const auto from = static_cast<off_t>(offset);
  mmap(ToPointer(pointer), size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, from);
  void* const view = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory->file, from);
  if (view == MAP_FAILED) Violation("mmap of %zu bytes failed", size);
  Addresses().mappings[pointer] = {memory, size, static_cast<char*>(view)};
  AddReference(memory);
  return CUDA_SUCCESS;
}

CUresult MemUnmap(CUdeviceptr pointer, size_t size) {
  const std::lock_guard<std::mutex> lock(Addresses().mutex);
  const CUdeviceptr end = pointer + size;
  while (pointer < end) {
    const Mapping* const found = Find(Addresses(), pointer);
    if (found == nullptr || pointer + found->size > end) return CUDA_ERROR_INVALID_VALUE;
    const Mapping mapping = *found;
    RemoveRegion(ToPointer(pointer));
    MakeInaccessible(pointer, mapping.size);
    munmap(mapping.view, mapping.size);
    DropReference(mapping.memory);
    Addresses().mappings.erase(pointer);
    pointer += mapping.size;
  }
  return CUDA_SUCCESS;
}

CUresult MemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* access,
                      size_t count) {
  const std::lock_guard<std::mutex> lock(Addresses().mutex);
  const CUdeviceptr end = pointer + size;
  while (pointer < end) {
    const Mapping* const mapping = Find(Addresses(), pointer);
    if (mapping == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const CUresult result = SetMappingAccess(pointer, *mapping, access[i]);
      if (result != CUDA_SUCCESS) return result;
    }
    pointer += mapping->size;
  }
  return CUDA_SUCCESS;
}

CUresult MemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                      CUdeviceptr pointer) {
  const std::optional<Region> region = FindRegion(ToPointer(pointer));
  if (!region || location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  *flags = region->allocation.view == nullptr ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                              : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

CUresult MemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* pointer) {
  const std::optional<Region> region = FindRegion(pointer);
  if (!region || region->allocation.kind != MemoryKind::kVirtual) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard<std::mutex> lock(Addresses().mutex);
  const Mapping* const mapping = Find(Addresses(), region->address);
  if (mapping == nullptr) return CUDA_ERROR_INVALID_VALUE;
  AddReference(mapping->memory);
  *handle = HandleOf(mapping->memory);
  return CUDA_SUCCESS;
}

}  // namespace fake_cuda::driver
