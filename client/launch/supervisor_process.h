#ifndef MUSTER_CLIENT_LAUNCH_SUPERVISOR_PROCESS_H_
#define MUSTER_CLIENT_LAUNCH_SUPERVISOR_PROCESS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "client/launcher/job_plan.h"
#include "muster/launch.h"

namespace muster::internal {

// Runs the plan, with forks that call `body`, in a Supervisor that is a process of its own, so that
// the program's own children are left alone and somebody is there to clean up when the program is
// killed. Blocks until all is over; signals meanwhile as muster/launch.h says.
absl::StatusOr<LaunchResult> RunSupervised(const launcher::JobPlan& plan,
                                           const std::function<absl::Status(int local_rank)>& body);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_SUPERVISOR_PROCESS_H_
