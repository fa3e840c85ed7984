// Device memory that the CPU cannot touch. Each allocation is mapped twice: at the address that the
// program gets, without any right of access, so that code which follows a device pointer on the
// host crashes as it does on a real machine; and at an address that only the fakes know.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/nccl/cuda/runtime/device.h"
#include "tests/nccl/cuda/runtime/error.h"
#include "tests/nccl/cuda/runtime/event.h"
#include "tests/nccl/cuda/runtime/stream.h"
#include "tests/nccl/cuda/fake_cuda.h"

namespace fake_cuda {
namespace {

// What memory holds before anything is written to it.
constexpr int kGarbage = 0xA5;

struct Allocation {
  size_t size = 0;
  cudaMemoryType type = cudaMemoryTypeDevice;
  int device = 0;
  char* view = nullptr;  // where the fakes reach it
};

struct Memory {
  std::mutex mutex;
  std::map<uintptr_t, Allocation> allocations;  // by address
};

Memory& AllMemory() {
  static auto* const kMemory = new Memory();
  return *kMemory;
}

uintptr_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

size_t RoundedUp(size_t size) {
  const size_t page = sysconf(_SC_PAGESIZE);
  return (size + page - 1) / page * page;
}

// The allocation that holds the address, and where in it. Needs the lock.
const Allocation* Holding(const Memory& memory, uintptr_t address, size_t* offset) {
  auto it = memory.allocations.upper_bound(address);
  if (it == memory.allocations.begin()) return nullptr;
  --it;
  *offset = address - it->first;
  return *offset < it->second.size ? &it->second : nullptr;
}

size_t InUse(const Memory& memory, int device) {
  size_t sum = 0;
  for (const auto& [address, allocation] : memory.allocations) {
    const bool counts = allocation.type == cudaMemoryTypeDevice && allocation.device == device;
    if (counts) sum += allocation.size;
  }
  return sum;
}

cudaError_t Allocate(void** pointer, size_t size, cudaMemoryType type) {
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  const int file = memfd_create("fake-cuda", MFD_CLOEXEC);
  const size_t mapped = RoundedUp(size);
  if (file < 0 || ftruncate(file, static_cast<off_t>(mapped)) != 0) {
    return cudaErrorMemoryAllocation;
  }
  const int access = type == cudaMemoryTypeDevice ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* const address = mmap(nullptr, mapped, access, MAP_SHARED, file, 0);
  void* const view = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  std::memset(view, kGarbage, size);
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  AllMemory().allocations[AddressOf(address)] =
      Allocation{size, type, CurrentDevice(), static_cast<char*>(view)};
  *pointer = address;
  return cudaSuccess;
}

cudaError_t Release(void* pointer, cudaMemoryType type) {
  if (pointer == nullptr) return cudaSuccess;
  Allocation allocation;
  {
    const std::lock_guard<std::mutex> lock(AllMemory().mutex);
    const auto it = AllMemory().allocations.find(AddressOf(pointer));
    if (it == AllMemory().allocations.end() || it->second.type != type) {
      Violation("memory %p is freed that is not allocated", pointer);
    }
    allocation = it->second;
  }
  AwaitIdle(allocation.device);  // as the real one does, whatever the memory was used for
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  AllMemory().allocations.erase(AddressOf(pointer));
  munmap(pointer, RoundedUp(allocation.size));
  munmap(allocation.view, RoundedUp(allocation.size));
  return cudaSuccess;
}

bool IsDevice(const void* pointer) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  size_t offset = 0;
  const Allocation* found = Holding(AllMemory(), AddressOf(pointer), &offset);
  return found != nullptr && found->type == cudaMemoryTypeDevice;
}

// Where a copy reads or writes: pageable memory is reached too.
struct Side {
  char* view = nullptr;
  bool device = false;
  bool pageable = false;
};

Side SideOf(const void* pointer, size_t size) {
  Side side;
  side.view = static_cast<char*>(Reach(pointer, size));
  side.device = IsDevice(pointer);
  if (side.view == nullptr && side.device) {
    Violation("a copy of %zu bytes at %p leaves its device allocation", size, pointer);
  }
  side.pageable = side.view == nullptr;
  if (side.pageable) side.view = static_cast<char*>(const_cast<void*>(pointer));
  return side;
}

bool Fits(cudaMemcpyKind kind, const Side& to, const Side& from) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !to.device && !from.device;
    case cudaMemcpyHostToDevice:
      return to.device && !from.device;
    case cudaMemcpyDeviceToHost:
      return !to.device && from.device;
    case cudaMemcpyDeviceToDevice:
      return to.device && from.device;
    default:
      return true;
  }
}

cudaError_t Copy(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream,
                 bool synchronous) {
  if (cudaError_t error = RuntimeState(); error != cudaSuccess) return error;
  if (size == 0) return cudaSuccess;
  const Side target = SideOf(to, size);
  const Side source = SideOf(from, size);
  if (!Fits(kind, target, source)) return cudaErrorInvalidValue;
  std::vector<Access> accesses;
  if (!source.pageable) accesses.push_back({from, size, /*writes=*/false, "a copy", nullptr});
  if (!target.pageable) accesses.push_back({to, size, /*writes=*/true, "a copy", nullptr});
  const Mark done = Enqueue(
      FindStream(stream), [target, source, size] { std::memcpy(target.view, source.view, size); },
      {}, accesses);
  // Copies of pageable memory wait for the stream, although they are called asynchronous.
  if (synchronous || target.pageable || source.pageable) done.HostAwaits();
  return cudaSuccess;
}

cudaError_t Fill(void* pointer, int value, size_t size, cudaStream_t stream) {
  if (cudaError_t error = RuntimeState(); error != cudaSuccess) return error;
  void* const view = Reach(pointer, size);
  if (view == nullptr) return cudaErrorInvalidValue;
  Enqueue(FindStream(stream), [view, value, size] { std::memset(view, value, size); }, {},
          {{pointer, size, /*writes=*/true, "a memset", nullptr}});
  return cudaSuccess;
}

}  // namespace

void* Reach(const void* pointer, size_t size) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  size_t offset = 0;
  const Allocation* found = Holding(AllMemory(), AddressOf(pointer), &offset);
  return found != nullptr && offset + size <= found->size ? found->view + offset : nullptr;
}

Counters Live() {
  Counters counters;
  counters.streams = LiveStreams();
  counters.events = LiveEvents();
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  for (const auto& [address, allocation] : AllMemory().allocations) {
    const bool device = allocation.type == cudaMemoryTypeDevice;
    ++(device ? counters.device_allocations : counters.host_allocations);
    if (device) counters.device_bytes += static_cast<int64_t>(allocation.size);
  }
  return counters;
}

}  // namespace fake_cuda

using fake_cuda::Return;

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t size) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  {
    const std::lock_guard<std::mutex> lock(fake_cuda::AllMemory().mutex);
    const size_t used = fake_cuda::InUse(fake_cuda::AllMemory(), fake_cuda::CurrentDevice());
    if (used + size > fake_cuda::DeviceMemory()) return Return(cudaErrorMemoryAllocation);
  }
  return Return(fake_cuda::Allocate(pointer, size, cudaMemoryTypeDevice));
}

cudaError_t cudaFree(void* pointer) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  return Return(fake_cuda::Release(pointer, cudaMemoryTypeDevice));
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  return Return(fake_cuda::Allocate(pointer, size, cudaMemoryTypeHost));
}

cudaError_t cudaMallocHost(void** pointer, size_t size) { return cudaHostAlloc(pointer, size, 0); }

cudaError_t cudaFreeHost(void* pointer) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  return Return(fake_cuda::Release(pointer, cudaMemoryTypeHost));
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  return Return(fake_cuda::Copy(to, from, size, kind, nullptr, /*synchronous=*/true));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return Return(fake_cuda::Copy(to, from, size, kind, stream, /*synchronous=*/false));
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t size, cudaStream_t stream) {
  return Return(fake_cuda::Fill(pointer, value, size, stream));
}

cudaError_t cudaMemset(void* pointer, int value, size_t size) {
  return Return(fake_cuda::Fill(pointer, value, size, nullptr));
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  *total = fake_cuda::DeviceMemory();
  const std::lock_guard<std::mutex> lock(fake_cuda::AllMemory().mutex);
  *free = *total - fake_cuda::InUse(fake_cuda::AllMemory(), fake_cuda::CurrentDevice());
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return Return(error);
  *attributes = cudaPointerAttributes();
  attributes->type = cudaMemoryTypeUnregistered;
  attributes->device = cudaInvalidDeviceId;
  const std::lock_guard<std::mutex> lock(fake_cuda::AllMemory().mutex);
  size_t offset = 0;
  const fake_cuda::Allocation* found =
      fake_cuda::Holding(fake_cuda::AllMemory(), fake_cuda::AddressOf(pointer), &offset);
  void* const address = const_cast<void*>(pointer);
  if (found == nullptr) {
    attributes->hostPointer = address;
    return cudaSuccess;
  }
  attributes->type = found->type;
  attributes->device = found->device;
  attributes->devicePointer = address;
  attributes->hostPointer = found->type == cudaMemoryTypeHost ? address : nullptr;
  return cudaSuccess;
}

}  // extern "C"
