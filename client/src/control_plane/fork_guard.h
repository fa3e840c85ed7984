#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_FORK_GUARD_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_FORK_GUARD_H_

#include "absl/status/status.h"

namespace muster::internal {

// Checks that this process may use gRPC; call it before the first use. In a fork of a process that
// has used gRPC, returns FAILED_PRECONDITION with both pids. gRPC's threads do not exist there, and
// the fork shares the parent's sockets: its traffic would go over the parent's connections.
// Thread-safe.
absl::Status CheckNotForked();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_FORK_GUARD_H_
