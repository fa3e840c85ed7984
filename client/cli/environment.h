#ifndef MUSTER_CLIENT_CLI_ENVIRONMENT_H_
#define MUSTER_CLIENT_CLI_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "client/cli/host_port.h"
#include "client/cli/launch_plan.h"

namespace muster::cli {

// One start of a process in the place of a rank.
struct RankStart {
  int local_rank = 0;
  std::string incarnation;  // 16 bytes
  int restarts = 0;         // how many processes were started in this place before
};

// The environment of one rank, as "NAME=value": `base` (this process's own), with the variables
// that place the rank in its job in place of whatever `base` says of them.
std::vector<std::string> RankEnvironment(const LaunchPlan& plan, const HostPort& coordinator,
                                         const RankStart& start,
                                         const std::vector<std::string>& base);

// This process's own environment, as "NAME=value".
std::vector<std::string> CurrentEnvironment();

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_ENVIRONMENT_H_
