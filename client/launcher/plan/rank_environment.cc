#include "client/launcher/plan/rank_environment.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/plan/master_port.h"
#include "client/launcher/process/find_program.h"
#include "common/memory/activity_board.h"
#include "common/process/cpu_affinity.h"

namespace muster::launcher {
namespace {

// With it, a PyTorch program does not serve the store in rank 0. It is unset without a store,
// because a torchrun around this launcher sets it for its own.
constexpr char kAgentStoreVariable[] = "TORCHELASTIC_USE_AGENT_STORE";
constexpr char kJsmVariable[] = "JSM_JSRUN_PORT";

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
  variables[kBindToVariable] = std::nullopt;
  if (!plan.cpus.empty()) {
    variables[kBindToVariable] = plan.bind_to == BindTo::kCore ? "core" : "numa";
  }
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
      {kAgentStoreVariable, std::nullopt},
  };
}

// Returns the variables by which a PyTorch program finds a store outside of rank 0, as under
// torchrun's agent.
RankVariables TorchStoreVariables(const JobPlan& plan) {
  if (plan.torch_store == TorchStore::kOff) return {};
  const bool loopback = plan.torch_store == TorchStore::kLoopback;
  return {
      {"MASTER_ADDR", loopback ? "127.0.0.1" : plan.coordinator.host},
      {"MASTER_PORT", absl::StrCat(plan.torch_port)},
      {kAgentStoreVariable, "True"},
      // Older versions of PyTorch, such as 1.13, put it into the names of their keys.
      {"TORCHELASTIC_RESTART_COUNT", absl::StrCat(plan.torch_generation)},
  };
}

// By these, MPI libraries find their launcher: PMI-1, PMIx, and JSM, which Open MPI 4 knows.
constexpr const char* kMpiVariables[] = {"PMI_FD",
                                         "PMI_RANK",
                                         "PMI_SIZE",
                                         "PMI_ID",
                                         "PMI_PORT",
                                         "PMI_SPAWNED",
                                         "MPI_LOCALRANKID",
                                         "MPI_LOCALNRANKS",
                                         "PMIX_NAMESPACE",
                                         "PMIX_RANK",
                                         "PMIX_SERVER_URI",
                                         "PMIX_SERVER_URI2",
                                         "PMIX_SERVER_URI21",
                                         "PMIX_SERVER_URI3",
                                         "PMIX_SERVER_URI4",
                                         "PMIX_SERVER_URI41",
                                         "PMIX_SERVER_TMPDIR",
                                         "PMIX_SYSTEM_TMPDIR",
                                         "PMIX_SECURITY_MODE",
                                         "PMIX_BFROP_BUFFER_TYPE",
                                         "PMIX_GDS_MODULE",
                                         "PMIX_DSTORE_21_BASE_PATH",
                                         "PMIX_DSTORE_ESH_BASE_PATH",
                                         "PMIX_HOSTNAME",
                                         "PMIX_VERSION",
                                         kJsmVariable};

// Returns the variables that MPI libraries read, as MPICH's mpiexec or a PMIx server sets them.
// Without such a server, variables of another launcher stay: it may serve its processes and their
// children.
RankVariables MpiVariables(const JobPlan& plan, const RankStart& start) {
  RankVariables variables;
  const bool served = start.mpi.pmi_fd >= 0 || !start.mpi.pmix.empty();
  if (!served && GetEnv(kSecretVariable).empty()) return variables;
  for (const char* name : kMpiVariables) variables[name] = std::nullopt;
  for (const std::string& variable : start.mpi.pmix) {
    const size_t end = variable.find('=');
    variables[variable.substr(0, end)] = variable.substr(end + 1);
  }
  // Open MPI 4 asks no PMIx server unless it knows the launcher. JSM's variable is enough.
  if (!start.mpi.pmix.empty()) variables[kJsmVariable] = "1";
  if (start.mpi.pmi_fd < 0) return variables;
  variables["PMI_FD"] = absl::StrCat(start.mpi.pmi_fd);
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
  variables.merge(TorchStoreVariables(plan));  // before those of the same names below
  variables.merge(TorchrunVariables(plan, start.local_rank));
  variables.merge(MpiVariables(plan, start));
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
