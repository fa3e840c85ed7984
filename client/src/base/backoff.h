#ifndef MUSTER_CLIENT_SRC_BASE_BACKOFF_H_
#define MUSTER_CLIENT_SRC_BASE_BACKOFF_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>

#include "absl/time/time.h"

namespace muster::internal {

// Returns uniformly distributed 64-bit numbers, for jitter. A seeded source makes waits repeatable.
using Random = std::function<uint64_t()>;

inline Random RandomFromDevice() {
  return [engine = std::mt19937_64(std::random_device()())]() mutable { return engine(); };
}

// The wait before each attempt: a random time from zero to a bound that doubles from 50 ms to 1 s
// (full jitter). Thousands of processes may lose their coordinator at once, and must not all
// reconnect at once.
class Backoff {
 public:
  void Reset() { bound_ = kFirst; }
  absl::Duration Next(const Random& random) {
    const double fraction = static_cast<double>(random() >> 11) / static_cast<double>(1ull << 53);
    const absl::Duration wait = bound_ * fraction;
    bound_ = std::min(2 * bound_, kLargest);
    return wait;
  }

 private:
  static constexpr absl::Duration kFirst = absl::Milliseconds(50);
  static constexpr absl::Duration kLargest = absl::Seconds(1);

  absl::Duration bound_ = kFirst;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_BACKOFF_H_
