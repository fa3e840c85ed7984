#ifndef MUSTER_CLIENT_SRC_STEADY_CLOCK_H_
#define MUSTER_CLIENT_SRC_STEADY_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <random>

#include "absl/time/time.h"

// Time for waiting: never the wall clock, which may be set while a call waits.
namespace muster::internal {

using SteadyClock = std::chrono::steady_clock;
using SteadyTime = SteadyClock::time_point;

// `duration` from `start`; durations of more than a year count as a year.
inline SteadyTime After(SteadyTime start, absl::Duration duration) {
  return start + absl::ToChronoNanoseconds(std::min(duration, absl::Hours(24 * 365)));
}

inline absl::Duration Between(SteadyTime start, SteadyTime end) {
  return absl::FromChrono(end - start);
}

// For messages.
inline absl::Duration Rounded(absl::Duration duration) {
  return absl::Trunc(duration, absl::Milliseconds(100));
}

// How long to wait before each attempt: from 50 ms, doubling up to 1 s, with jitter so that
// thousands of processes do not come back at once.
class Backoff {
 public:
  void Reset() { next_ = kFirst; }
  absl::Duration Next() {
    const absl::Duration wait = next_ * std::uniform_real_distribution<double>(0.5, 1)(random_);
    next_ = std::min(2 * next_, kLargest);
    return wait;
  }

 private:
  static constexpr absl::Duration kFirst = absl::Milliseconds(50);
  static constexpr absl::Duration kLargest = absl::Seconds(1);

  std::minstd_rand random_{std::random_device()()};
  absl::Duration next_ = kFirst;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_STEADY_CLOCK_H_
