#ifndef MUSTER_CLIENT_SRC_NODE_FUTEX_H_
#define MUSTER_CLIENT_SRC_NODE_FUTEX_H_

#include <atomic>
#include <cstdint>

namespace muster::internal {

// The Hooks of FanInSlots and FanInRound in production: futexes that work between processes, and a
// clock. Tests have Hooks of their own, which simulate both.
struct SharedFutex {
  static void Step() {}
  // Returns monotonic nanoseconds.
  static int64_t Now();
  // Blocks while `*word` is `expected`, for at most `nanos`. May return early.
  static void Wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t nanos);
  static void Wake(std::atomic<uint32_t>* word);
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_FUTEX_H_
