#ifndef MUSTER_CLIENT_SRC_BASE_STEADY_CLOCK_H_
#define MUSTER_CLIENT_SRC_BASE_STEADY_CLOCK_H_

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"

// The clock for waits. It is never the wall clock, which may be set while a call waits.
namespace muster::internal {

using SteadyClock = std::chrono::steady_clock;
using SteadyTime = SteadyClock::time_point;

// Returns `start` plus `duration`. Durations of more than a year count as a year.
inline SteadyTime After(SteadyTime start, absl::Duration duration) {
  return start + absl::ToChronoNanoseconds(std::min(duration, absl::Hours(24 * 365)));
}

inline absl::Duration Between(SteadyTime start, SteadyTime end) {
  return absl::FromChrono(end - start);
}

// Returns the duration in tenths of a second, for messages.
inline absl::Duration Rounded(absl::Duration duration) {
  return absl::Trunc(duration, absl::Milliseconds(100));
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_STEADY_CLOCK_H_
