#ifndef MUSTER_SERVER_CORE_SUPPORT_STALL_CLOCK_H_
#define MUSTER_SERVER_CORE_SUPPORT_STALL_CLOCK_H_

#include <algorithm>

#include "server/core/api/basic_types.h"

namespace muster::core {

// The times at which a wait in which no member arrives is reported. The first report is due when
// the wait is unusual, if that is known, or else after the first warning time. Further reports are
// due whenever the wait has doubled.
class StallClock {
 public:
  // Notes that a member has arrived.
  void Restart(Time now) {
    since_ = now;
    reported_ = absl::ZeroDuration();
  }
  // Returns when to report the wait: after `first`, or after `unusual` if that is earlier. Once it
  // was reported, returns when its length has doubled, but not before `first`.
  Time Next(absl::Duration first, absl::Duration unusual = absl::InfiniteDuration()) const {
    if (reported_ == absl::ZeroDuration()) return since_ + std::min(first, unusual);
    return since_ + std::max(first, 2 * reported_);
  }
  // Notes that the wait was reported.
  void NoteReported(Time now) { reported_ = now - since_; }

 private:
  Time since_;
  absl::Duration reported_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_SUPPORT_STALL_CLOCK_H_
