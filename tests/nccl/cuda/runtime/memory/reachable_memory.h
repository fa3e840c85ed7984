#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_MEMORY_REACHABLE_MEMORY_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_MEMORY_REACHABLE_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>

// The memory that the GPU reaches: device memory, pinned and registered host memory, and memory
// that cuMemMap() has mapped.
//
// Device memory is mapped twice. The program's address has no right of access, so code that follows
// a device pointer on the host crashes, as on a real machine. The second address, the view, is
// known only to the stand-in.
namespace fake_cuda {

enum class MemoryKind { kDevice, kPinned, kRegistered, kPool, kImported, kVirtual };

struct Allocation {
  size_t size = 0;
  MemoryKind kind = MemoryKind::kDevice;
  cudaMemoryType type = cudaMemoryTypeDevice;
  int device = 0;
  char* view = nullptr;  // null: the device has no access
  int file = -1;         // a memfd that other processes can map
};

struct Region {
  uintptr_t address = 0;
  Allocation allocation;
};

uintptr_t AddressOf(const void* pointer);
size_t RoundUp(size_t size, size_t granularity);
size_t PageSize();

// Maps new memory at both addresses. Returns cudaErrorMemoryAllocation if the device is full.
cudaError_t Allocate(void** pointer, size_t size, MemoryKind kind);

// Maps the memory in `file`. Unmap() closes the file.
void* MapFile(int file, size_t size, MemoryKind kind, int device);

// Forgets and unmaps the allocation of this kind that begins at the pointer. Ends the process if
// there is none.
void Release(void* pointer, MemoryKind kind);

// Returns the allocation of this kind that begins at the pointer. Ends the process if there is
// none.
Region FindAllocation(void* pointer, MemoryKind kind);

// Returns the allocation that holds the address.
std::optional<Region> FindRegion(const void* pointer);

// Adds or removes a range that the caller has mapped.
bool AddRegion(const void* pointer, const Allocation& allocation);
std::optional<Region> RemoveRegion(const void* pointer);
void SetView(const void* pointer, char* view);

// Counts memory of a device without an address, such as cuMemCreate()'s. Returns false if the
// device is full.
bool Reserve(int device, size_t size);
void Unreserve(int device, size_t size);
size_t InUse(int device);

// Waits for the device if FAKE_CUDA_IMPLICIT_SYNC=all. For calls that may wait on a real GPU.
void SynchronizeImplicitly();

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_MEMORY_REACHABLE_MEMORY_H_
