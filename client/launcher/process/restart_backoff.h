#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_RESTART_BACKOFF_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_RESTART_BACKOFF_H_

#include <optional>

#include "absl/time/time.h"

namespace muster::launcher {

// Decides when a process that has ended is restarted: at once, then after a pause that doubles each
// time the process ends soon after its start, up to half a minute. The cause may pass: memory runs
// out, a disk is full, a port is in use. Makes no system calls. All times are from SteadyNow().
class RestartBackoff {
 public:
  // Gives up once no process has stayed up (for ten seconds) within `patience`.
  explicit RestartBackoff(absl::Duration patience) : patience_(patience) {}

  // Returns how long to wait before the next start of a process that ran from `started` to `ended`.
  // Returns nullopt to give up.
  std::optional<absl::Duration> NextPause(absl::Time started, absl::Time ended);

 private:
  const absl::Duration patience_;
  absl::Time down_since_ = absl::InfinitePast();
  absl::Duration pause_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_RESTART_BACKOFF_H_
