#ifndef MUSTER_CLIENT_CLI_ENVIRONMENT_H_
#define MUSTER_CLIENT_CLI_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "client/cli/host_port.h"
#include "client/cli/launch_plan.h"

namespace muster::cli {

// The environment of one rank, as "NAME=value": `base` (this process's own), with the variables
// that place the rank in its job in place of whatever `base` says of them.
std::vector<std::string> RankEnvironment(const LaunchPlan& plan, const HostPort& coordinator,
                                         int local_rank, const std::string& incarnation,
                                         const std::vector<std::string>& base);

// This process's own environment, as "NAME=value".
std::vector<std::string> CurrentEnvironment();

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_ENVIRONMENT_H_
