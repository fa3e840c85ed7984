#ifndef MUSTER_CLIENT_SRC_NODE_FUTEX_H_
#define MUSTER_CLIENT_SRC_NODE_FUTEX_H_

#include <atomic>
#include <cstdint>

namespace muster::internal {

// What Slots and Meeting need of the operating system: futexes that work between processes, and a
// clock.
struct SharedFutex {
  static void Step() {}
  // Monotonic nanoseconds.
  static int64_t Now();
  // Blocks while the word is `expected`, at most so long; may return sooner.
  static void Wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t nanos);
  static void Wake(std::atomic<uint32_t>* word);
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_FUTEX_H_
