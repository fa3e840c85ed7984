#include "tests/nccl/cuda/runtime/memory/reachable_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/devices.h"
#include "tests/nccl/cuda/runtime/environment.h"
#include "tests/nccl/cuda/runtime/stream/event.h"
#include "tests/nccl/cuda/runtime/stream/stream.h"

namespace fake_cuda {
namespace {

// The content of new memory. Only the beginning of a large allocation is filled, so that unused
// buffers take no memory of the machine.
constexpr int kGarbage = 0xA5;
constexpr size_t kMaxGarbage = 1 << 20;

struct Memory {
  std::mutex mutex;
  std::map<uintptr_t, Allocation> allocations;  // by address
  std::map<int, size_t> reserved;               // bytes without an address, by device
};

Memory& AllMemory() {
  static auto* const kMemory = new Memory();
  return *kMemory;
}

bool IsCounted(const Allocation& allocation) {
  return allocation.kind == MemoryKind::kDevice || allocation.kind == MemoryKind::kPool;
}

// Returns the allocation that holds the address. The caller holds the lock.
const Allocation* Find(const Memory& memory, uintptr_t address, size_t* offset) {
  auto it = memory.allocations.upper_bound(address);
  if (it == memory.allocations.begin()) return nullptr;
  --it;
  *offset = address - it->first;
  return *offset < it->second.size ? &it->second : nullptr;
}

// Returns the bytes in use on a device. The caller holds the lock.
size_t Used(const Memory& memory, int device) {
  const auto reserved = memory.reserved.find(device);
  size_t sum = reserved == memory.reserved.end() ? 0 : reserved->second;
  for (const auto& [address, allocation] : memory.allocations) {
    if (IsCounted(allocation) && allocation.device == device) sum += allocation.size;
  }
  return sum;
}

bool IsHost(MemoryKind kind) {
  return kind == MemoryKind::kPinned || kind == MemoryKind::kRegistered;
}

}  // namespace

uintptr_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

size_t RoundUp(size_t size, size_t granularity) {
  return (size + granularity - 1) / granularity * granularity;
}

size_t PageSize() { return sysconf(_SC_PAGESIZE); }

void* MapFile(int file, size_t size, MemoryKind kind, int device) {
  const size_t mapped = RoundUp(size, PageSize());
  const int access = IsHost(kind) ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* const address = mmap(nullptr, mapped, access, MAP_SHARED, file, 0);
  void* const view = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (address == MAP_FAILED || view == MAP_FAILED) Violation("mmap of %zu bytes failed", mapped);
  const cudaMemoryType type = IsHost(kind) ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  AddRegion(address, {size, kind, type, device, static_cast<char*>(view), file});
  return address;
}

cudaError_t Allocate(void** pointer, size_t size, MemoryKind kind) {
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  const bool fits = IsHost(kind) || InUse(CurrentDevice()) + size <= DeviceMemory();
  const int file = fits ? memfd_create("fake-cuda", MFD_CLOEXEC) : -1;
  if (file < 0) return cudaErrorMemoryAllocation;
  if (ftruncate(file, static_cast<off_t>(RoundUp(size, PageSize()))) != 0) {
    close(file);
    return cudaErrorMemoryAllocation;
  }
  *pointer = MapFile(file, size, kind, CurrentDevice());
  std::memset(FindRegion(*pointer)->allocation.view, kGarbage, std::min(size, kMaxGarbage));
  return cudaSuccess;
}

Region FindAllocation(void* pointer, MemoryKind kind) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  const auto it = AllMemory().allocations.find(AddressOf(pointer));
  if (it == AllMemory().allocations.end() || it->second.kind != kind) {
    Violation("memory %p is freed that is not allocated", pointer);
  }
  return {it->first, it->second};
}

void Release(void* pointer, MemoryKind kind) {
  const Allocation allocation = FindAllocation(pointer, kind).allocation;
  RemoveRegion(pointer);
  munmap(pointer, RoundUp(allocation.size, PageSize()));
  munmap(allocation.view, RoundUp(allocation.size, PageSize()));
  close(allocation.file);
}

std::optional<Region> FindRegion(const void* pointer) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  size_t offset = 0;
  const Allocation* found = Find(AllMemory(), AddressOf(pointer), &offset);
  if (found == nullptr) return std::nullopt;
  return Region{AddressOf(pointer) - offset, *found};
}

bool AddRegion(const void* pointer, const Allocation& allocation) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  auto& all = AllMemory().allocations;
  const auto next = all.lower_bound(AddressOf(pointer));
  size_t offset = 0;
  const bool overlaps = Find(AllMemory(), AddressOf(pointer), &offset) != nullptr ||
                        (next != all.end() && next->first < AddressOf(pointer) + allocation.size);
  if (!overlaps) all[AddressOf(pointer)] = allocation;
  return !overlaps;
}

std::optional<Region> RemoveRegion(const void* pointer) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  const auto it = AllMemory().allocations.find(AddressOf(pointer));
  if (it == AllMemory().allocations.end()) return std::nullopt;
  const Region region{it->first, it->second};
  AllMemory().allocations.erase(it);
  return region;
}

void SetView(const void* pointer, char* view) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  AllMemory().allocations.at(AddressOf(pointer)).view = view;
}

bool Reserve(int device, size_t size) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  if (Used(AllMemory(), device) + size > DeviceMemory()) return false;
  AllMemory().reserved[device] += size;
  return true;
}

void Unreserve(int device, size_t size) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  AllMemory().reserved[device] -= size;
}

size_t InUse(int device) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  return Used(AllMemory(), device);
}

void SynchronizeImplicitly() {
  if (Variable("FAKE_CUDA_IMPLICIT_SYNC", "") == "all") AwaitIdle(CurrentDevice());
}

void* Reach(const void* pointer, size_t size) {
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  size_t offset = 0;
  const Allocation* found = Find(AllMemory(), AddressOf(pointer), &offset);
  const bool reached = found != nullptr && found->view != nullptr && offset + size <= found->size;
  return reached ? found->view + offset : nullptr;
}

Counters CurrentCounters() {
  Counters counters;
  counters.streams = LiveStreams();
  counters.events = LiveEvents();
  const std::lock_guard<std::mutex> lock(AllMemory().mutex);
  for (const auto& [address, allocation] : AllMemory().allocations) {
    if (IsHost(allocation.kind)) ++counters.host_allocations;
    if (!IsCounted(allocation)) continue;
    ++counters.device_allocations;
    counters.device_bytes += static_cast<int64_t>(allocation.size);
  }
  for (const auto& [device, bytes] : AllMemory().reserved) {
    counters.device_bytes += static_cast<int64_t>(bytes);
  }
  return counters;
}

}  // namespace fake_cuda
