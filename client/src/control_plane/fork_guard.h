#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_FORK_GUARD_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_FORK_GUARD_H_

#include "absl/status/status.h"

namespace muster::internal {

// To be asked before this process uses gRPC. FAILED_PRECONDITION, with both pids, in a fork of a
// process that has done so: gRPC's threads are not there, and what is sent or awaited here would
// be taken from the connections of the parent, whose descriptors are shared. Thread-safe.
absl::Status CheckNotForked();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_FORK_GUARD_H_
