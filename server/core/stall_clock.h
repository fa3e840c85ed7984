#ifndef MUSTER_SERVER_CORE_STALL_CLOCK_H_
#define MUSTER_SERVER_CORE_STALL_CLOCK_H_

#include <algorithm>

#include "server/core/vocabulary.h"

namespace muster::core {

// When a wait in which nobody arrives is worth a word: as soon as it is out of the ordinary, where
// that can be told; after a first while; then whenever the wait has doubled.
class StallClock {
 public:
  // Somebody has arrived.
  void Restart(Time now) {
    since_ = now;
    said_ = absl::ZeroDuration();
  }
  Time Next(absl::Duration first, absl::Duration unusual = absl::InfiniteDuration()) const {
    if (said_ == absl::ZeroDuration()) return since_ + std::min(first, unusual);
    return since_ + std::max(first, 2 * said_);
  }
  void Said(Time now) { said_ = now - since_; }

 private:
  Time since_;
  absl::Duration said_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_STALL_CLOCK_H_
