#include "common/memory/activity_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/memory/activity_board.h"

namespace muster {

using activity::Board;
using activity::Slot;
using activity::State;

namespace {

// The limit of retries if a rank changes its slot faster than it can be read, which was never seen.
constexpr int kMaxAttempts = 10000;

std::string TextOf(const char* text, size_t size) { return std::string(text, strnlen(text, size)); }

// The contents of a slot at one moment.
struct SlotSnapshot {
  uint64_t taken;
  State state;
};

// Reads a slot. If the version is the same before and after, the state was not written in between.
std::optional<SlotSnapshot> ReadSlot(const Slot& slot) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const uint64_t taken = slot.taken.load(std::memory_order_acquire);
    const uint64_t version = slot.version.load(std::memory_order_acquire);
    if (taken == 0) return std::nullopt;
    SlotSnapshot seen{taken, slot.states[version % 2]};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.version.load(std::memory_order_relaxed) != version) continue;
    if (seen.state.name[0] == '\0') return std::nullopt;
    return seen;
  }
  return std::nullopt;
}

CommunicatorActivity ToActivity(const State& state, int64_t now) {
  return {TextOf(state.name, sizeof(state.name)),
          state.begun,
          std::min(state.ended, state.begun),
          TextOf(state.operation, sizeof(state.operation)),
          state.bytes,
          absl::Nanoseconds(now - std::clamp<int64_t>(state.since, 0, now))};
}

}  // namespace

// Seals the memory, so that neither side can shrink it under the other.
absl::StatusOr<std::unique_ptr<ActivityReader>> ActivityReader::Make() {
  absl::StatusOr<SharedMemoryFile> file =
      SharedMemoryFile::MakeSealed("muster-activity", sizeof(Board));
  if (!file.ok()) return file.status();
  absl::StatusOr<MappedMemory> memory = file->Map(sizeof(Board), 0);
  if (!memory.ok()) return memory.status();
  std::unique_ptr<ActivityReader> activity(
      new ActivityReader(*std::move(file), *std::move(memory)));
  activity->board()->magic.store(activity::kMagic, std::memory_order_relaxed);
  return activity;
}

ActivityReader::ActivityReader(SharedMemoryFile file, MappedMemory memory)
    : file_(std::move(file)),
      memory_(std::move(memory)),
      path_(absl::StrCat("/proc/", getpid(), "/fd/", file_.descriptor())) {}

std::vector<CommunicatorActivity> ActivityReader::Read() const {
  std::vector<SlotSnapshot> all;
  for (const Slot& slot : board()->slots) {
    if (std::optional<SlotSnapshot> seen = ReadSlot(slot)) all.push_back(*seen);
  }
  std::sort(all.begin(), all.end(),
            [](const SlotSnapshot& a, const SlotSnapshot& b) { return a.taken < b.taken; });
  const int64_t now = activity::MonotonicNow();
  std::vector<CommunicatorActivity> result;
  for (const SlotSnapshot& seen : all) result.push_back(ToActivity(seen.state, now));
  return result;
}

}  // namespace muster
