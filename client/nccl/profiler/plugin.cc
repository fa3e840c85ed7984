// A profiler plug-in for NCCL: what its communicators do, where the rank's launcher can see it,
// also those of programs that call NCCL themselves. NCCL loads it where NCCL_PROFILER_PLUGIN says
// so.

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "client/nccl/profiler/abi.h"
#include "client/nccl/profiler/operations.h"

namespace muster::nccl_profiler {
namespace {

// The communicators of the process. Events come with numbers in place of pointers, since they may
// come late: when the communicator, or the operation, is no more.
class Communicators {
 public:
  static constexpr size_t kMost = 64;  // what a launcher looks at

  // An index, or kMost where there are too many.
  size_t Add(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    size_t index = 0;
    while (index < kMost && all_[index] != nullptr) ++index;
    if (index < kMost) all_[index] = std::make_shared<Operations>(name);
    return index;
  }
  void Remove(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (index < kMost) all_[index] = nullptr;
  }
  std::shared_ptr<Operations> Find(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return index < kMost ? all_[index] : nullptr;
  }

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<Operations>, kMost> all_;
};

// Never destroyed: NCCL's threads may outlive the program's main().
Communicators& All() {
  static auto* const all = new Communicators;
  return *all;
}

// A handle: what the event is, its communicator and its operation. Never null.
constexpr int kIndexBits = 8;
constexpr uintptr_t kPart = 1;  // of a kernel, and not an operation

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

// For a group, which this plug-in does not look at. NCCL 2.27 tells of no operation of a group
// whose handle is null (src/plugin/profiler.cc, ncclProfilerStartTaskEvents).
void* GroupHandle() { return ToHandle(0, Communicators::kMost, 0); }

// A context: one more than the index, so that it is not null.
void* ToContext(size_t index) { return reinterpret_cast<void*>(index + 1); }
size_t IndexOfContext(void* context) { return reinterpret_cast<uintptr_t>(context) - 1; }

// Alike on all ranks of the communicator, but for what its program has named differently.
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
  const std::shared_ptr<Operations> operations = All().Find(index);
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

// That of a collective says that the host has given it to the GPU; that of a part of its kernel
// that the GPU has done it.
int StopEvent(void* handle) {
  if (handle == nullptr || !IsPart(handle)) return kSuccess;
  const std::shared_ptr<Operations> operations = All().Find(IndexOf(handle));
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
