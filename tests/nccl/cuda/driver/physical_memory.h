#ifndef MUSTER_TESTS_NCCL_CUDA_DRIVER_PHYSICAL_MEMORY_H_
#define MUSTER_TESTS_NCCL_CUDA_DRIVER_PHYSICAL_MEMORY_H_

#include <cuda.h>

#include <cstddef>

// Memory without an address, as cuMemCreate() makes it. It is a memfd. The last page is never
// mapped for the program. It tells an importing process what the memory is.
namespace fake_cuda::driver {

struct PhysicalMemory {
  int file = -1;
  size_t size = 0;
  CUmemAllocationProp properties = {};
  int charged_device = -1;  // the device whose memory it takes; -1: none of this process
  int references = 1;       // handles that the program has not released, and mappings
};

// Returns the memory that a handle names. Ends the process if the handle has been released.
PhysicalMemory* MemoryOf(CUmemGenericAllocationHandle handle);
CUmemGenericAllocationHandle HandleOf(const PhysicalMemory* memory);

// Count references. The memory lives as long as it has one.
void AddReference(PhysicalMemory* memory);
void DropReference(PhysicalMemory* memory);

bool IsOnDevice(const PhysicalMemory& memory);

}  // namespace fake_cuda::driver

#endif  // MUSTER_TESTS_NCCL_CUDA_DRIVER_PHYSICAL_MEMORY_H_
