#ifndef MUSTER_COMMON_MEMORY_ACTIVITY_BOARD_H_
#define MUSTER_COMMON_MEMORY_ACTIVITY_BOARD_H_

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

// The layout of the memory in which a rank publishes what its communicators do. The launcher makes
// and reads it (activity_reader.h), and the rank writes it (activity_publisher.h).
namespace muster::activity {

// The environment variable that gives the rank the path of the memory.
inline constexpr char kVariable[] = "MUSTER_ACTIVITY_FILE";

inline constexpr size_t kSlots = 64;
inline constexpr size_t kNameBytes = 96;
inline constexpr size_t kOperationBytes = 24;
// Identifies the layout. Change it with the layout.
inline constexpr uint64_t kMagic = 0x3174634174736d21;

// The published state of one communicator.
struct State {
  char name[kNameBytes];  // ends with a zero, unless it fills the field
  char operation[kOperationBytes];
  uint64_t begun;
  uint64_t ended;
  uint64_t bytes;
  int64_t since;  // MonotonicNow()
};

// A communicator's slot. Only its owner writes it, always into the state that is not the latest. So
// one state is whole at any time, even if the process dies while it writes.
struct Slot {
  std::atomic<uint64_t> taken;    // the number of its communicator; 0: free
  std::atomic<uint64_t> version;  // the latest state is states[version % 2]
  State states[2];
};

// The whole memory.
struct Board {
  std::atomic<uint64_t> magic;
  std::atomic<uint64_t> last;  // number of the newest communicator
  Slot slots[kSlots];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Returns nanoseconds on the clock that all processes of a machine share.
inline int64_t MonotonicNow() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

}  // namespace muster::activity

#endif  // MUSTER_COMMON_MEMORY_ACTIVITY_BOARD_H_
