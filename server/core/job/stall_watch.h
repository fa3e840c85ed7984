#ifndef MUSTER_SERVER_CORE_JOB_STALL_WATCH_H_
#define MUSTER_SERVER_CORE_JOB_STALL_WATCH_H_

#include <algorithm>

#include "absl/time/time.h"
#include "server/core/api/types.h"
#include "server/core/job/job_context.h"

namespace muster::core {

// The shortest wait that is unusual, even if such waits are usually shorter.
inline constexpr absl::Duration kLeastUnusual = absl::Seconds(2);

// The time of the next look for members that wait for too long.
class StallWatch {
 public:
  explicit StallWatch(const JobContext& job) : job_(job) {}

  // Notes that a wait begins. A check is then due soon, even if the next report of an earlier wait
  // is far off. So a slow forming does not hide what hangs after it. That check looks again at what
  // waits then. Runs at each arrival, so it only takes a minimum.
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

#endif  // MUSTER_SERVER_CORE_JOB_STALL_WATCH_H_
