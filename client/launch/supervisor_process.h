#ifndef MUSTER_CLIENT_LAUNCH_SUPERVISOR_PROCESS_H_
#define MUSTER_CLIENT_LAUNCH_SUPERVISOR_PROCESS_H_

#include "absl/status/statusor.h"
#include "client/launch/supervisor.h"
#include "muster/launch.h"

namespace muster::internal {

// Runs the plan in a Supervisor that is a process of its own, so that the program's own children
// are left alone and somebody is there to clean up when the program is killed. Blocks until all is
// over; signals meanwhile as muster/launch.h says.
absl::StatusOr<LaunchResult> RunSupervised(const LaunchPlan& plan);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_SUPERVISOR_PROCESS_H_
