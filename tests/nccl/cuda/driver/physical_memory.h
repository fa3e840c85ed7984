#ifndef MUSTER_TESTS_NCCL_CUDA_DRIVER_PHYSICAL_MEMORY_H_
#define MUSTER_TESTS_NCCL_CUDA_DRIVER_PHYSICAL_MEMORY_H_

#include <cuda.h>

#include <cstddef>

// Memory without an address, as cuMemCreate() makes it: a memfd. Its last page, which is never
// mapped for the program, tells an importing process what the memory is.
namespace fake_cuda::driver {

struct PhysicalMemory {
  int file = -1;
  size_t size = 0;
  CUmemAllocationProp properties = {};
  int charged_device = -1;  // whose memory it takes; -1: none of this process
  int references = 1;       // handles that the program has not released, and mappings
};

// The memory that a handle names. Ends the process if the handle has been released.
PhysicalMemory* MemoryOf(CUmemGenericAllocationHandle handle);
CUmemGenericAllocationHandle HandleOf(const PhysicalMemory* memory);

// The memory lives as long as something refers to it.
void AddReference(PhysicalMemory* memory);
void DropReference(PhysicalMemory* memory);

bool IsOnDevice(const PhysicalMemory& memory);

}  // namespace fake_cuda::driver

#endif  // MUSTER_TESTS_NCCL_CUDA_DRIVER_PHYSICAL_MEMORY_H_
