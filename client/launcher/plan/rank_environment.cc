#include "client/launcher/plan/rank_environment.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/plan/master_port.h"
#include "client/launcher/process/find_program.h"
#include "common/memory/activity_board.h"

namespace muster::launcher {
namespace {

// Returns the variables that the SDK reads (muster/job_options.h).
RankVariables MusterVariables(const JobPlan& plan, const RankStart& start) {
  RankVariables variables = {
      {"MUSTER_COORDINATOR", plan.coordinator.ToString()},
      {"MUSTER_JOB", plan.job},
      {"MUSTER_LOCAL_RANK", absl::StrCat(start.local_rank)},
      {"MUSTER_NODE_RANK", absl::StrCat(plan.node_rank)},
      {kSecretVariable, absl::BytesToHexString(start.secret)},
      {"MUSTER_RESTART_COUNT", absl::StrCat(start.restarts)},
      {"MUSTER_WORLD_SIZE", absl::StrCat(plan.world_size())},
      {"MUSTER_RANK", absl::StrCat(plan.GlobalRank(start.local_rank))},
  };
  // In an elastic job, the coordinator assigns both, and they may change from epoch to epoch.
  if (plan.elastic()) variables["MUSTER_WORLD_SIZE"] = variables["MUSTER_RANK"] = std::nullopt;
  variables[activity::kVariable] = std::nullopt;
  if (!start.activity_file.empty()) variables[activity::kVariable] = start.activity_file;
  if (!plan.node_id.empty()) variables["MUSTER_NODE_ID"] = plan.node_id;
  return variables;
}

// Returns the variables that programs for torchrun read.
RankVariables TorchrunVariables(const JobPlan& plan, int local_rank) {
  return {
      {"RANK", absl::StrCat(plan.GlobalRank(local_rank))},
      {"WORLD_SIZE", absl::StrCat(plan.world_size())},
      {"LOCAL_RANK", absl::StrCat(local_rank)},
      {"LOCAL_WORLD_SIZE", absl::StrCat(plan.nproc_per_node)},
      {"GROUP_RANK", absl::StrCat(plan.node_rank)},
      {"MASTER_ADDR", plan.coordinator.host},
      {"MASTER_PORT", absl::StrCat(MasterPort(plan))},
  };
}

// Returns the variables that MPI libraries read, as MPICH's mpiexec sets them. Without a PMI
// server, variables of another launcher stay: it may serve PMI to its processes and their children.
RankVariables PmiVariables(const JobPlan& plan, const RankStart& start) {
  RankVariables variables;
  for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_ID", "PMI_PORT", "PMI_SPAWNED",
                           "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}) {
    variables[name] = std::nullopt;
  }
  if (start.pmi_fd < 0) return GetEnv(kSecretVariable).empty() ? RankVariables() : variables;
  variables["PMI_FD"] = absl::StrCat(start.pmi_fd);
  variables["PMI_RANK"] = variables["PMI_ID"] = absl::StrCat(plan.GlobalRank(start.local_rank));
  variables["PMI_SIZE"] = absl::StrCat(plan.world_size());
  variables["MPI_LOCALRANKID"] = absl::StrCat(start.local_rank);
  variables["MPI_LOCALNRANKS"] = absl::StrCat(plan.nproc_per_node);
  return variables;
}

// Returns the credential variables. If the coordinator has its own token, unsets those that the
// user set for another coordinator.
RankVariables CredentialVariables(const JobPlan& plan) {
  const bool own_token = plan.hosted && plan.hosted->own_token;
  RankVariables variables;
  for (const CredentialField& field : kCredentialFields) {
    const std::string& value = plan.credentials.*field.value;
    if (!value.empty()) variables[field.variable] = value;
    if (value.empty() && own_token) variables[field.variable] = std::nullopt;
  }
  return variables;
}

}  // namespace

CredentialFiles CredentialsFromEnvironment() {
  CredentialFiles files;
  for (const CredentialField& field : kCredentialFields) {
    files.*field.value = GetEnv(field.variable);
  }
  return files;
}

RankVariables VariablesOf(const JobPlan& plan, const RankStart& start) {
  RankVariables variables = MusterVariables(plan, start);
  variables.merge(CredentialVariables(plan));
  variables.merge(TorchrunVariables(plan, start.local_rank));
  variables.merge(PmiVariables(plan, start));
  return variables;
}

std::vector<std::string> Merge(const std::vector<std::string>& base,
                               const RankVariables& variables) {
  std::vector<std::string> result;
  for (const std::string& variable : base) {
    if (variables.count(variable.substr(0, variable.find('='))) == 0) result.push_back(variable);
  }
  for (const auto& [name, value] : variables) {
    if (value) result.push_back(absl::StrCat(name, "=", *value));
  }
  return result;
}

std::vector<std::string> CurrentEnvironment() {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) result.push_back(*variable);
  return result;
}

}  // namespace muster::launcher
