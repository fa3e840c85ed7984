#ifndef MUSTER_COMMON_STEADY_NOW_H_
#define MUSTER_COMMON_STEADY_NOW_H_

#include <ctime>

#include "absl/time/time.h"

namespace muster {

// The time of a clock that nobody sets, in absl's types: for time-outs and for how long something
// has taken. It says nothing of the time of day.
inline absl::Time SteadyNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

}  // namespace muster

#endif  // MUSTER_COMMON_STEADY_NOW_H_
