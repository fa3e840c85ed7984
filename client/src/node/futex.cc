#include "client/src/node/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace muster::internal {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

// Calls futex(2) without FUTEX_PRIVATE_FLAG, since other processes wait for the word too.
void Futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), operation, value, timeout, nullptr, 0);
}

}  // namespace

int64_t SharedFutex::Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * kNanosPerSecond + now.tv_nsec;
}

// Ignores why the system call returned (changed word, signal, time-out): callers read the word
// again in any case.
void SharedFutex::Wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t nanos) {
  nanos = std::max<int64_t>(nanos, 0);
  const timespec timeout = {static_cast<time_t>(nanos / kNanosPerSecond),
                            static_cast<long>(nanos % kNanosPerSecond)};
  Futex(word, FUTEX_WAIT, expected, &timeout);
}

void SharedFutex::Wake(std::atomic<uint32_t>* word) { Futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

}  // namespace muster::internal
