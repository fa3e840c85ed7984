#ifndef MUSTER_CLIENT_LAUNCHER_MASTER_PORT_H_
#define MUSTER_CLIENT_LAUNCHER_MASTER_PORT_H_

#include <optional>

#include "client/launcher/job_plan.h"

namespace muster::launcher {

// Returns a TCP port on which no process of this machine listens now, or nullopt if there is none.
std::optional<int> FreePort();

// Returns MASTER_PORT for the job's ranks. Without one in the plan, it is a hash of the job in
// 20000 to 29999 that differs from the coordinator's port, so that all nodes get the same port
// without a message. It may be in use.
int MasterPort(const JobPlan& plan);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_MASTER_PORT_H_
