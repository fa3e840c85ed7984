#ifndef MUSTER_CLIENT_LAUNCHER_PLAN_MASTER_PORT_H_
#define MUSTER_CLIENT_LAUNCHER_PLAN_MASTER_PORT_H_

#include <optional>

#include "client/launcher/plan/job_plan.h"

namespace muster::launcher {

// Returns a TCP port on which no process of this machine listens now, or nullopt if there is none.
std::optional<int> FreePort();

// Returns MASTER_PORT for the job's ranks: the plan's, or else a hash of the coordinator's address
// and the job, from 20000 to 29999. So all nodes get the same port without a message. It differs
// from the coordinator's port, but another program may use it.
int MasterPort(const JobPlan& plan);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PLAN_MASTER_PORT_H_
