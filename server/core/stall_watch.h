#ifndef MUSTER_SERVER_CORE_STALL_WATCH_H_
#define MUSTER_SERVER_CORE_STALL_WATCH_H_

#include <algorithm>

#include "absl/time/time.h"
#include "server/core/job_context.h"
#include "server/core/types.h"

namespace muster::core {

// A wait whose usual length is known is never out of the ordinary before this.
inline constexpr absl::Duration kLeastUnusual = absl::Seconds(2);

// When to look next whether anybody waits for too long.
class StallWatch {
 public:
  explicit StallWatch(const JobContext& job) : job_(job) {}

  // Something begins to wait. One check is due soon after, however late the next word on what
  // waited before is: a slow forming must not keep from view what hangs after it. The check looks
  // again at what waits then. Runs at each arrival, and so only takes a minimum.
  void Begin() {
    const absl::Duration warning = job_.options.stall_warning;
    if (warning == absl::ZeroDuration()) return;
    next_ = std::min(next_, job_.now + std::min(warning, kLeastUnusual));
  }
  void Stop() { next_ = absl::InfiniteFuture(); }

  Time next() const { return next_; }
  void SetNext(Time next) { next_ = next; }

 private:
  const JobContext& job_;
  Time next_ = absl::InfiniteFuture();
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_STALL_WATCH_H_
