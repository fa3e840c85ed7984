#include "client/cli/environment.h"

#include <unistd.h>

#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace muster::cli {
namespace {

using Variables = std::map<std::string, std::string>;

// What the SDK reads (muster/job_options.h).
Variables MusterVariables(const LaunchPlan& plan, const HostPort& coordinator,
                          const RankStart& start) {
  Variables variables = {
      {"MUSTER_COORDINATOR", coordinator.ToString()},
      {"MUSTER_JOB", plan.job},
      {"MUSTER_LOCAL_RANK", absl::StrCat(start.local_rank)},
      {"MUSTER_NODE_RANK", absl::StrCat(plan.node_rank)},
      {"MUSTER_INCARNATION", absl::BytesToHexString(start.incarnation)},
      {"MUSTER_RESTART_COUNT", absl::StrCat(start.restarts)},
  };
  // In an elastic job the coordinator decides: both may differ from one epoch to the next.
  if (!plan.elastic()) {
    variables["MUSTER_WORLD_SIZE"] = absl::StrCat(plan.world_size());
    variables["MUSTER_RANK"] = absl::StrCat(plan.GlobalRank(start.local_rank));
  }
  if (!plan.node_id.empty()) variables["MUSTER_NODE_ID"] = plan.node_id;
  return variables;
}

// What programs written for torchrun read.
Variables TorchrunVariables(const LaunchPlan& plan, const HostPort& coordinator, int local_rank) {
  return {
      {"RANK", absl::StrCat(plan.GlobalRank(local_rank))},
      {"WORLD_SIZE", absl::StrCat(plan.world_size())},
      {"LOCAL_RANK", absl::StrCat(local_rank)},
      {"LOCAL_WORLD_SIZE", absl::StrCat(plan.nproc_per_node)},
      {"GROUP_RANK", absl::StrCat(plan.node_rank)},
      {"MASTER_ADDR", coordinator.host},
      {"MASTER_PORT", absl::StrCat(plan.master_port.value_or(coordinator.port))},
  };
}

}  // namespace

std::vector<std::string> RankEnvironment(const LaunchPlan& plan, const HostPort& coordinator,
                                         const RankStart& start,
                                         const std::vector<std::string>& base) {
  Variables added = MusterVariables(plan, coordinator, start);
  added.merge(TorchrunVariables(plan, coordinator, start.local_rank));
  std::vector<std::string> result;
  for (const std::string& variable : base) {
    if (added.count(variable.substr(0, variable.find('='))) == 0) result.push_back(variable);
  }
  for (const auto& [name, value] : added) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

std::vector<std::string> CurrentEnvironment() {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) result.push_back(*variable);
  return result;
}

}  // namespace muster::cli
