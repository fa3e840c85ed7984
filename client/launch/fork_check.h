#ifndef MUSTER_CLIENT_LAUNCH_FORK_CHECK_H_
#define MUSTER_CLIENT_LAUNCH_FORK_CHECK_H_

#include "absl/status/status.h"

namespace muster::internal {

// Returns OK if a fork of this process can do everything that the process itself can.
// FAILED_PRECONDITION names the obstacle: other threads, which do not exist in a fork and whose
// locks may stay held; gRPC in use; or an open GPU driver.
absl::Status CheckForkable();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_FORK_CHECK_H_
