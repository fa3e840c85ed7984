#ifndef MUSTER_COMMON_PROCESS_STEADY_NOW_H_
#define MUSTER_COMMON_PROCESS_STEADY_NOW_H_

#include <ctime>

#include "absl/time/time.h"

namespace muster {

// Returns the time of the monotonic clock in Abseil's types, for time-outs and durations. It is not
// the time of day.
inline absl::Time SteadyNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_STEADY_NOW_H_
