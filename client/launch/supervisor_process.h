#ifndef MUSTER_CLIENT_LAUNCH_SUPERVISOR_PROCESS_H_
#define MUSTER_CLIENT_LAUNCH_SUPERVISOR_PROCESS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "client/launcher/plan/job_plan.h"
#include "muster/launch.h"

namespace muster::internal {

// Runs the plan in a supervisor process, which forks the ranks; each calls `body`. Blocks until all
// ranks have ended. Handles signals meanwhile as muster/launch.h says.
//
//   the program (blocked here) -- supervisor -- musterd
//                                     |-- rank 0
//                                     |-- rank 1
//
// The supervisor is a separate process for two reasons: it reaps every child it has, which must not
// include the program's own children, and it cleans up if the program is killed.
//
// Everything after the forks is client/launcher's, which `muster run` shares. Tests:
// tests/client/launch.
absl::StatusOr<LaunchResult> RunSupervised(const launcher::JobPlan& plan,
                                           const std::function<absl::Status(int local_rank)>& body);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_SUPERVISOR_PROCESS_H_
