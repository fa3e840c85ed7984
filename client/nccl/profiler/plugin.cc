// A profiler plug-in for NCCL. It shows the rank's launcher what NCCL's communicators do, also in
// programs that call NCCL themselves. NCCL loads it if NCCL_PROFILER_PLUGIN names it.

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "client/nccl/profiler/abi.h"
#include "client/nccl/profiler/operation_tracker.h"

namespace muster::nccl_profiler {
namespace {

// The communicators of the process. Events carry numbers in place of pointers, since they may
// arrive late, when the communicator or the operation no longer exists.
class Communicators {
 public:
  static constexpr size_t kMost = 64;  // as many as a launcher reads

  // Adds a communicator. Returns its index, or kMost if there are too many.
  size_t Add(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    size_t index = 0;
    while (index < kMost && all_[index] != nullptr) ++index;
    if (index < kMost) all_[index] = std::make_shared<OperationTracker>(name);
    return index;
  }
  void Remove(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (index < kMost) all_[index] = nullptr;
  }
  std::shared_ptr<OperationTracker> Find(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return index < kMost ? all_[index] : nullptr;
  }

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<OperationTracker>, kMost> all_;
};

// Never destroyed: NCCL's threads may outlive the program's main().
Communicators& All() {
  static auto* const all = new Communicators;
  return *all;
}

// An event handle: whether the event is a part of a kernel, its communicator and its operation.
// Never null.
constexpr int kIndexBits = 8;
constexpr uintptr_t kPart = 1;  // a part of a kernel, not an operation

void* ToHandle(uint64_t operation, size_t index, uintptr_t part) {
  return reinterpret_cast<void*>(operation << (kIndexBits + 1) | index << 1 | part);
}
bool IsPart(void* handle) { return reinterpret_cast<uintptr_t>(handle) & kPart; }
size_t IndexOf(void* handle) {
  return reinterpret_cast<uintptr_t>(handle) >> 1 & ((1 << kIndexBits) - 1);
}
uint64_t OperationOf(void* handle) {
  return reinterpret_cast<uintptr_t>(handle) >> (kIndexBits + 1);
}

// Returns the handle of a group, which this plug-in ignores. It must not be null: NCCL 2.27 reports
// no operation of a group whose handle is null (src/plugin/profiler.cc,
// ncclProfilerStartTaskEvents).
void* GroupHandle() { return ToHandle(0, Communicators::kMost, 0); }

// A context is the index plus one, so that it is never null.
void* ToContext(size_t index) { return reinterpret_cast<void*>(index + 1); }
size_t IndexOfContext(void* context) { return reinterpret_cast<uintptr_t>(context) - 1; }

// Returns the communicator's name. It is the same on all ranks, unless their programs gave
// different names.
std::string NameOf(const char* name, uint64_t hash, int ranks) {
  char text[160];
  const bool named = name != nullptr && *name != '\0';
  std::snprintf(text, sizeof(text), "NCCL communicator %016" PRIx64 "%s%.40s%s of %d ranks", hash,
                named ? " (" : "", named ? name : "", named ? ")" : "", ranks);
  return text;
}

int Init(void** context, int* mask, const char* name, uint64_t hash, int /*nodes*/, int ranks,
         int /*rank*/, void (* /*log*/)()) {
  *context = ToContext(All().Add(NameOf(name, hash, ranks)));
  *mask = kCollective | kKernelChannel;
  return kSuccess;
}

void* StartCollective(size_t index, const EventDescription::Collective& collective) {
  const std::shared_ptr<OperationTracker> operations = All().Find(index);
  if (operations == nullptr) return nullptr;
  const char* const function = collective.function == nullptr ? "?" : collective.function;
  const char* const type = collective.data_type == nullptr ? "" : collective.data_type;
  const uint64_t number =
      operations->Begin(function, BytesOf(type, collective.count), collective.channels);
  return ToHandle(number, index, 0);
}

int StartEvent(void* context, void** handle, EventDescription* event) {
  *handle = nullptr;
  if (event->kind == kGroup) {
    *handle = GroupHandle();
  } else if (event->kind == kCollective) {
    *handle = StartCollective(IndexOfContext(context), event->collective);
  } else if (event->kind == kKernelChannel && event->parent != nullptr) {
    *handle = ToHandle(OperationOf(event->parent), IndexOf(event->parent), kPart);
  }
  return kSuccess;
}

// Handles the end of an event. The end of a collective means that the host has given it to the GPU.
// The end of a part of its kernel means that the GPU has done that part.
int StopEvent(void* handle) {
  if (handle == nullptr || !IsPart(handle)) return kSuccess;
  const std::shared_ptr<OperationTracker> operations = All().Find(IndexOf(handle));
  if (operations != nullptr) operations->EndChannel(OperationOf(handle));
  return kSuccess;
}

int RecordEventState(void* /*handle*/, int /*state*/, void* /*arguments*/) { return kSuccess; }

int Finalize(void* context) {
  All().Remove(IndexOfContext(context));
  return kSuccess;
}

}  // namespace
}  // namespace muster::nccl_profiler

extern "C" __attribute__((visibility("default")))
const muster::nccl_profiler::Profiler ncclProfiler_v4 = {
    "Muster",
    muster::nccl_profiler::Init,
    muster::nccl_profiler::StartEvent,
    muster::nccl_profiler::StopEvent,
    muster::nccl_profiler::RecordEventState,
    muster::nccl_profiler::Finalize,
};
