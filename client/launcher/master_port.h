#ifndef MUSTER_CLIENT_LAUNCHER_MASTER_PORT_H_
#define MUSTER_CLIENT_LAUNCHER_MASTER_PORT_H_

#include <optional>

#include "client/launcher/job_plan.h"

namespace muster::launcher {

// A port that nobody listens at on this machine, now; nothing if there is none.
std::optional<int> FreePort();

// MASTER_PORT of a job's ranks: the plan's, else one that all nodes of the job come to by
// themselves, from 20000 to 29999, and that is not the coordinator's. Whether it is free nobody
// knows.
int MasterPort(const JobPlan& plan);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_MASTER_PORT_H_
