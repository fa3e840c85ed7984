#ifndef MUSTER_COMMON_ACTIVITY_BOARD_H_
#define MUSTER_COMMON_ACTIVITY_BOARD_H_

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

// The memory in which a rank publishes what its communicators do: published_activity.h writes it,
// rank_activity.h makes and reads it.
namespace muster::activity {

// Names the memory, for the rank that is to write it.
inline constexpr char kVariable[] = "MUSTER_ACTIVITY_FILE";

inline constexpr size_t kSlots = 64;
inline constexpr size_t kNameBytes = 96;
inline constexpr size_t kOperationBytes = 24;
// Says what is in the memory; another layout has another one.
inline constexpr uint64_t kMagic = 0x3174634174736d21;

struct State {
  char name[kNameBytes];  // ends with a zero, unless it fills the space
  char operation[kOperationBytes];
  uint64_t begun;
  uint64_t ended;
  uint64_t bytes;
  int64_t since;  // MonotonicNow()
};

// A communicator's place. Its owner alone writes it, always into the state that is not the latest:
// so there is a whole one at any time, also after the end of a process that was writing.
struct Slot {
  std::atomic<uint64_t> taken;    // the number of its communicator; 0: free
  std::atomic<uint64_t> version;  // the latest state is states[version % 2]
  State states[2];
};

struct Board {
  std::atomic<uint64_t> magic;
  std::atomic<uint64_t> last;  // number of the communicator that came last
  Slot slots[kSlots];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Nanoseconds on the clock that all processes of a machine share.
inline int64_t MonotonicNow() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

}  // namespace muster::activity

#endif  // MUSTER_COMMON_ACTIVITY_BOARD_H_
