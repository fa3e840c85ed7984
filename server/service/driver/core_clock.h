#ifndef MUSTER_SERVER_SERVICE_DRIVER_CORE_CLOCK_H_
#define MUSTER_SERVER_SERVICE_DRIVER_CORE_CLOCK_H_

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/core/api/types.h"

namespace muster::service {

// The core's clock: the wall clock at construction plus the steady time since. Setting the wall
// clock therefore neither ends nor prolongs a wait. Thread-safe.
class CoreClock {
 public:
  core::Time Now() const { return wall_start_ + Elapsed(); }

  absl::Duration Elapsed() const {
    return absl::FromChrono(std::chrono::steady_clock::now() - steady_start_);
  }

  // Converts a time of this clock to the steady clock. `time` must be finite.
  std::chrono::steady_clock::time_point ToSteady(core::Time time) const {
    return steady_start_ + absl::ToChronoNanoseconds(time - wall_start_);
  }

 private:
  const core::Time wall_start_ = absl::Now();
  const std::chrono::steady_clock::time_point steady_start_ = std::chrono::steady_clock::now();
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_DRIVER_CORE_CLOCK_H_
