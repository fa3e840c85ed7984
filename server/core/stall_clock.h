#ifndef MUSTER_SERVER_CORE_STALL_CLOCK_H_
#define MUSTER_SERVER_CORE_STALL_CLOCK_H_

#include "server/core/vocabulary.h"

namespace muster::core {

// When a wait in which nobody arrives is worth a word: after a first while, then whenever the wait
// has doubled.
class StallClock {
 public:
  // Somebody has arrived.
  void Restart(Time now) {
    since_ = now;
    said_ = absl::ZeroDuration();
  }
  Time Next(absl::Duration first) const {
    return since_ + (said_ == absl::ZeroDuration() ? first : 2 * said_);
  }
  void Said(Time now) { said_ = now - since_; }

 private:
  Time since_;
  absl::Duration said_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_STALL_CLOCK_H_
