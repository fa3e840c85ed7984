#include "common/rank_activity.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/activity_board.h"

namespace muster {

using activity::Board;
using activity::Slot;
using activity::State;

namespace {

// A rank that changes something all the time, faster than it can be read: unheard of.
constexpr int kLooks = 10000;

std::string TextOf(const char* text, size_t size) { return std::string(text, strnlen(text, size)); }

// What the rank has written, as it was at one moment.
struct Seen {
  uint64_t taken;
  State state;
};

// The version is the same before and after: the state was not written to in between.
std::optional<Seen> ReadSlot(const Slot& slot) {
  for (int look = 0; look < kLooks; ++look) {
    const uint64_t taken = slot.taken.load(std::memory_order_acquire);
    const uint64_t version = slot.version.load(std::memory_order_acquire);
    if (taken == 0) return std::nullopt;
    Seen seen{taken, slot.states[version % 2]};
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

absl::StatusOr<std::unique_ptr<RankActivity>> RankActivity::Make() {
  const auto fail = [](const char* what) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat(what, " of memory to see what a rank's communicators do"));
  };
  const int descriptor = memfd_create("muster-activity", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return fail("memfd_create");
  std::unique_ptr<RankActivity> activity(new RankActivity(descriptor));
  if (ftruncate(descriptor, sizeof(Board)) != 0) return fail("ftruncate");
  // So that nobody takes it away from under the other.
  if (fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return fail("F_ADD_SEALS");
  }
  void* const memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return fail("mmap");
  activity->board_ = static_cast<Board*>(memory);
  activity->board_->magic.store(activity::kMagic, std::memory_order_relaxed);
  return activity;
}

RankActivity::RankActivity(int descriptor)
    : descriptor_(descriptor), path_(absl::StrCat("/proc/", getpid(), "/fd/", descriptor)) {}

RankActivity::~RankActivity() {
  if (board_ != nullptr) munmap(board_, sizeof(Board));
  close(descriptor_);
}

std::vector<CommunicatorActivity> RankActivity::Read() const {
  std::vector<Seen> all;
  for (const Slot& slot : board_->slots) {
    if (std::optional<Seen> seen = ReadSlot(slot)) all.push_back(*seen);
  }
  std::sort(all.begin(), all.end(), [](const Seen& a, const Seen& b) { return a.taken < b.taken; });
  const int64_t now = activity::MonotonicNow();
  std::vector<CommunicatorActivity> result;
  for (const Seen& seen : all) result.push_back(ToActivity(seen.state, now));
  return result;
}

}  // namespace muster
