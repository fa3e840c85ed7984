#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_KILL_PATIENCE_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_KILL_PATIENCE_H_

#include "absl/time/time.h"

namespace muster::launcher {

// How long a process that was sent SIGKILL may take to end. One in an uninterruptible system call
// takes longer, and nobody waits for it.
inline constexpr absl::Duration kKillPatience = absl::Seconds(5);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_KILL_PATIENCE_H_
