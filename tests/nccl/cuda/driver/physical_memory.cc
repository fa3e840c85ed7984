#include "tests/nccl/cuda/driver/physical_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <set>

#include "tests/nccl/cuda/driver/entry_points.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/devices.h"
#include "tests/nccl/cuda/runtime/memory/reachable_memory.h"

namespace fake_cuda::driver {
namespace {

constexpr size_t kDeviceGranularity = size_t{2} << 20;
constexpr size_t kHostGranularity = size_t{64} << 10;
constexpr uint64_t kMagic = 0x66616b6563756461;

// The last page of the file, which describes the memory to an importing process.
struct Description {
  uint64_t magic = kMagic;
  CUmemAllocationProp properties = {};
  int physical_device = -1;
};

struct AllMemory {
  std::mutex mutex;
  std::set<PhysicalMemory*> live;
};

AllMemory& All() {
  static auto* const kAll = new AllMemory();
  return *kAll;
}

bool IsOnDevice(const CUmemAllocationProp& properties) {
  return properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

bool IsOnHost(const CUmemAllocationProp& properties) {
  return properties.location.type == CU_MEM_LOCATION_TYPE_HOST ||
         properties.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         properties.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

size_t GranularityOf(const CUmemAllocationProp& properties) {
  return IsOnDevice(properties) ? kDeviceGranularity : kHostGranularity;
}

CUresult Check(const CUmemAllocationProp& properties) {
  if (properties.requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (IsOnHost(properties)) return CUDA_SUCCESS;
  const int devices = static_cast<int>(VisibleDevices().size());
  const bool exists = properties.location.id >= 0 && properties.location.id < devices;
  return IsOnDevice(properties) && exists ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

int NewFile(size_t size, const CUmemAllocationProp& properties) {
  Description description;
  description.properties = properties;
  if (IsOnDevice(properties)) {
    description.physical_device = VisibleDevices()[properties.location.id].physical;
  }
  const int file = memfd_create("fake-cuda-physical", MFD_CLOEXEC);
  const bool made = file >= 0 && ftruncate(file, static_cast<off_t>(size + PageSize())) == 0 &&
                    pwrite(file, &description, sizeof description, static_cast<off_t>(size)) ==
                        static_cast<ssize_t>(sizeof description);
  if (!made) Violation("no memfd of %zu bytes", size);
  return file;
}

CUmemGenericAllocationHandle RegisterMemory(const PhysicalMemory& memory) {
  auto* const kept = new PhysicalMemory(memory);
  const std::lock_guard<std::mutex> lock(All().mutex);
  All().live.insert(kept);
  return HandleOf(kept);
}

// Returns the ordinal in this process of a device of the machine, or -1 if the process does not see
// it.
int OrdinalOf(int physical_device) {
  for (size_t i = 0; i < VisibleDevices().size(); ++i) {
    if (VisibleDevices()[i].physical == physical_device) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

bool IsOnDevice(const PhysicalMemory& memory) { return IsOnDevice(memory.properties); }

CUmemGenericAllocationHandle HandleOf(const PhysicalMemory* memory) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(memory);
}

PhysicalMemory* MemoryOf(CUmemGenericAllocationHandle handle) {
  auto* const memory = reinterpret_cast<PhysicalMemory*>(handle);
  const std::lock_guard<std::mutex> lock(All().mutex);
  if (All().live.count(memory) == 0) {
    Violation("a call names memory handle %llx, which does not exist or has been released", handle);
  }
  return memory;
}

void AddReference(PhysicalMemory* memory) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  ++memory->references;
}

void DropReference(PhysicalMemory* memory) {
  {
    const std::lock_guard<std::mutex> lock(All().mutex);
    if (--memory->references > 0) return;
    All().live.erase(memory);
  }
  if (memory->charged_device >= 0) Unreserve(memory->charged_device, memory->size);
  close(memory->file);
  delete memory;
}

CUresult MemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                   const CUmemAllocationProp* properties, unsigned long long) {
  if (const CUresult error = State(); error != CUDA_SUCCESS) return error;
  if (const CUresult error = Check(*properties); error != CUDA_SUCCESS) return error;
  if (size == 0 || size % GranularityOf(*properties) != 0) return CUDA_ERROR_INVALID_VALUE;
  PhysicalMemory memory;
  memory.size = size;
  memory.properties = *properties;
  if (IsOnDevice(memory)) {
    memory.charged_device = properties->location.id;
    if (!Reserve(memory.charged_device, size)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  memory.file = NewFile(size, *properties);
  *handle = RegisterMemory(memory);
  return CUDA_SUCCESS;
}

CUresult MemRelease(CUmemGenericAllocationHandle handle) {
  DropReference(MemoryOf(handle));
  return CUDA_SUCCESS;
}

CUresult MemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                     CUmemAllocationGranularity_flags) {
  if (const CUresult error = Check(*properties); error != CUDA_SUCCESS) return error;
  *granularity = GranularityOf(*properties);
  return CUDA_SUCCESS;
}

CUresult MemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                              CUmemGenericAllocationHandle handle) {
  *properties = MemoryOf(handle)->properties;
  return CUDA_SUCCESS;
}

CUresult MemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                    CUmemAllocationHandleType type, unsigned long long) {
  const PhysicalMemory* const memory = MemoryOf(handle);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if ((memory->properties.requestedHandleTypes & type) == 0) return CUDA_ERROR_INVALID_VALUE;
  const int file = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(shareable) = file;
  return CUDA_SUCCESS;
}

// Imports the memory. The caller keeps its descriptor.
CUresult MemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                      CUmemAllocationHandleType type) {
  if (const CUresult error = State(); error != CUDA_SUCCESS) return error;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
  struct stat status = {};
  if (fstat(file, &status) != 0) return CUDA_ERROR_INVALID_VALUE;
  PhysicalMemory memory;
  memory.size = static_cast<size_t>(status.st_size) - PageSize();
  Description description;
  description.magic = 0;
  const ssize_t got =
      pread(file, &description, sizeof description, static_cast<off_t>(memory.size));
  if (got != static_cast<ssize_t>(sizeof description) || description.magic != kMagic) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  memory.properties = description.properties;
  if (IsOnDevice(memory)) memory.properties.location.id = OrdinalOf(description.physical_device);
  memory.file = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (memory.file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *handle = RegisterMemory(memory);
  return CUDA_SUCCESS;
}

}  // namespace fake_cuda::driver
