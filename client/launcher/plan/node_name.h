#ifndef MUSTER_CLIENT_LAUNCHER_PLAN_NODE_NAME_H_
#define MUSTER_CLIENT_LAUNCHER_PLAN_NODE_NAME_H_

#include <string>

#include "client/launcher/plan/job_plan.h"

namespace muster::launcher {

// Returns the name of this node for messages: the plan's node id, else the host name.
std::string NodeNameOf(const JobPlan& plan);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PLAN_NODE_NAME_H_
