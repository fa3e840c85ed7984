#ifndef MUSTER_CLIENT_LAUNCHER_RESTART_BACKOFF_H_
#define MUSTER_CLIENT_LAUNCHER_RESTART_BACKOFF_H_

#include <optional>

#include "absl/time/time.h"

namespace muster::launcher {

// When a process that has ended is started again: at once, then after a pause that doubles each
// time it ends soon after its start, up to half a minute. What made it end may pass: a machine
// without memory, a full disk, a port that is taken. Pure; all times are SteadyNow()'s.
class RestartBackoff {
 public:
  // Gives up once the process has not stayed up for `patience`.
  explicit RestartBackoff(absl::Duration patience) : patience_(patience) {}

  // The process was started at `started`, and has ended at `ended`. Returns how long to wait
  // before it is started again; nullopt if it is given up.
  std::optional<absl::Duration> NextPause(absl::Time started, absl::Time ended);

 private:
  const absl::Duration patience_;
  absl::Time down_since_ = absl::InfinitePast();
  absl::Duration pause_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RESTART_BACKOFF_H_
