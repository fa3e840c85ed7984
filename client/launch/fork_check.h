#ifndef MUSTER_CLIENT_LAUNCH_FORK_CHECK_H_
#define MUSTER_CLIENT_LAUNCH_FORK_CHECK_H_

#include "absl/status/status.h"

namespace muster::internal {

// OK if a fork of this process can do everything that the process itself can. FAILED_PRECONDITION
// says what stands against it: other threads, which a fork does not have and whose locks it may
// find held; gRPC; an open GPU driver.
absl::Status CheckForkable();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_FORK_CHECK_H_
