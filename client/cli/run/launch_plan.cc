#include "client/cli/run/launch_plan.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/flags/coordinator_flag.h"
#include "common/text/utf8.h"

#define RETURN_IF_ERROR(expression)                       \
  do {                                                    \
    if (absl::Status s = (expression); !s.ok()) return s; \
  } while (false)

namespace muster::cli {
namespace {

using launcher::BindTo;
using launcher::JobPlan;
using launcher::Pmi;
using launcher::TorchStore;

constexpr size_t kMaxNameBytes = 256;
constexpr int kMaxProcesses = 4096;  // on one node
constexpr int kMaxNodes = 65536;
constexpr int kMaxPort = 65535;

absl::Status Malformed(absl::string_view flag, absl::string_view value,
                       absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is '", ReplaceUnprintable(value), "'; expected ", expected));
}

// Leaves `result` unchanged if the flag was not given.
absl::Status ParseProcesses(const std::optional<std::string>& text, const Machine& machine,
                            int* result) {
  constexpr char kFlag[] = "--nproc-per-node";
  if (!text) return absl::OkStatus();
  if (*text == "gpu" && machine.gpus == 0) {
    return absl::InvalidArgumentError(
        "--nproc-per-node is 'gpu', and this machine has no visible GPU; check nvidia-smi and "
        "CUDA_VISIBLE_DEVICES, or give a number");
  }
  if (*text == "gpu" || (*text == "auto" && machine.gpus > 0)) {
    *result = machine.gpus;
  } else if (*text == "cpu" || *text == "auto") {
    *result = machine.cpus;
  } else if (!absl::SimpleAtoi(*text, result) || *result < 1 || *result > kMaxProcesses) {
    return Malformed(
        kFlag, *text,
        absl::StrCat("a whole number from 1 to ", kMaxProcesses, ", gpu, cpu or auto"));
  }
  return absl::OkStatus();
}

// Leaves `result` unchanged if the flag was not given.
absl::Status ParseNumber(const char* flag, const std::optional<std::string>& text, int min, int max,
                         int* result) {
  if (!text) return absl::OkStatus();
  if (absl::SimpleAtoi(*text, result) && *result >= min && *result <= max) return absl::OkStatus();
  return Malformed(flag, *text, absl::StrCat("a whole number from ", min, " to ", max));
}

// Reads the list of --nproc-per-node: the ranks of each node, "4,4,2".
absl::Status ParseProcessList(const std::string& text, JobPlan* job) {
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ','))) {
    int processes = 0;
    if (!absl::SimpleAtoi(word, &processes) || processes < 1 || processes > kMaxProcesses) {
      return Malformed("--nproc-per-node", text,
                       absl::StrCat("whole numbers from 1 to ", kMaxProcesses,
                                    ", separated by commas, one for each node"));
    }
    job->ranks_of_nodes.push_back(processes);
  }
  if (static_cast<int>(job->ranks_of_nodes.size()) == job->nnodes) {
    job->nproc_per_node = job->ranks_of_nodes[job->node_rank];
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--nproc-per-node has ", job->ranks_of_nodes.size(), " numbers, and --nnodes is ",
      job->nnodes, "; give one number for each node, or one for all"));
}

absl::Status ParseDuration(const char* flag, const std::string& text, absl::Duration* result) {
  if (absl::ParseDuration(text, result) && *result >= absl::ZeroDuration()) return absl::OkStatus();
  return Malformed(flag, text, "a duration such as 5s, 500ms or 1m30s");
}

absl::Status FillSizes(const RunFlags& flags, const Machine& machine, JobPlan* job) {
  const bool list = flags.nproc_per_node && absl::StrContains(*flags.nproc_per_node, ',');
  if (!list) {
    RETURN_IF_ERROR(ParseProcesses(flags.nproc_per_node, machine, &job->nproc_per_node));
  }
  if (flags.nnodes && absl::StrContains(*flags.nnodes, ':')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--nnodes is '", ReplaceUnprintable(*flags.nnodes),
        "'; expected one number, the nodes that are started. Give the range of an elastic job to "
        "musterd (on one node, to muster run) as --min-world-size and --max-world-size"));
  }
  RETURN_IF_ERROR(ParseNumber("--nnodes", flags.nnodes, 1, kMaxNodes, &job->nnodes));
  if (job->nnodes > 1 && !flags.coordinator) {
    return absl::InvalidArgumentError(
        absl::StrCat("--nnodes is ", job->nnodes,
                     ", which needs --coordinator: start one musterd for the job and give its "
                     "address on every node"));
  }
  if (job->nnodes > 1 && !flags.node_rank) {
    return absl::InvalidArgumentError(absl::StrCat("--nnodes is ", job->nnodes,
                                                   ", which needs --node-rank: 0 to ",
                                                   job->nnodes - 1, ", different on each node"));
  }
  RETURN_IF_ERROR(ParseNumber("--node-rank", flags.node_rank, 0, job->nnodes - 1, &job->node_rank));
  return list ? ParseProcessList(*flags.nproc_per_node, job) : absl::OkStatus();
}

absl::Status FillCoordinator(const RunFlags& flags, const std::string& generated_job,
                             JobPlan* job) {
  if (flags.coordinator) {
    absl::StatusOr<HostPort> address =
        ParseCoordinator(flags.coordinator_source, *flags.coordinator);
    if (!address.ok()) return address.status();
    job->coordinator = *std::move(address);
  }
  // A musterd that was started separately serves the job "default", unless its flags name another.
  job->job = flags.job.value_or(flags.coordinator ? "default" : generated_job);
  RETURN_IF_ERROR(CheckName("--job", job->job));
  if (!flags.node_id) return absl::OkStatus();
  job->node_id = *flags.node_id;
  return CheckName("--node-id", job->node_id);
}

// A hosted coordinator has its own token.
absl::Status FillCredentials(const RunFlags& flags, JobPlan* job) {
  for (const CredentialField& field : kCredentialFields) {
    if (flags.coordinator || (flags.credentials.*field.value).empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(field.flag,
                     " needs --coordinator: the coordinator that muster run starts has a "
                     "token of its own, which its ranks get without a flag"));
  }
  job->credentials = flags.credentials;
  return absl::OkStatus();
}

absl::Status FillMasterPort(const RunFlags& flags, JobPlan* job) {
  if (!flags.master_port) return absl::OkStatus();
  return ParseNumber("--master-port", flags.master_port, 1, kMaxPort, &job->master_port.emplace());
}

absl::Status FillTimes(const RunFlags& flags, JobPlan* job) {
  if (flags.grace) RETURN_IF_ERROR(ParseDuration("--grace", *flags.grace, &job->grace));
  if (!flags.failure_wait) return absl::OkStatus();
  return ParseDuration("--failure-wait", *flags.failure_wait, &job->failure_wait);
}

std::string UnsetHint(const RunFlags& flags) {
  if (flags.coordinator_source == "--coordinator") return "";
  return absl::StrCat("; or unset ", flags.coordinator_source);
}

// Returns an error for flags that configure a coordinator, if the coordinator runs already.
absl::Status RefuseBesideCoordinator(const RunFlags& flags) {
  const std::pair<const char*, bool> given[] = {
      {"--min-world-size", flags.min_world_size.has_value()},
      {"--max-world-size", flags.max_world_size.has_value()},
      {"--settle", flags.settle.has_value()},
      {"--metrics-listen", flags.metrics_listen.has_value()}};
  for (const auto& [flag, is_given] : given) {
    if (!flags.coordinator || !is_given) continue;
    return absl::InvalidArgumentError(absl::StrCat(flag, " cannot be combined with ",
                                                   flags.coordinator_source, ": give ", flag,
                                                   " to that musterd instead", UnsetHint(flags)));
  }
  return absl::OkStatus();
}

absl::Status FillRestart(const RunFlags& flags, JobPlan* job) {
  const std::string scope = flags.restart.value_or("auto");
  if (scope != "auto" && scope != "rank" && scope != "group") {
    return Malformed("--restart", scope, "group, rank or auto");
  }
  job->restart = scope == "auto"   ? launcher::RestartScope::kAuto
                 : scope == "rank" ? launcher::RestartScope::kRank
                                   : launcher::RestartScope::kGroup;
  return absl::OkStatus();
}

absl::Status FillElasticity(const RunFlags& flags, JobPlan* job) {
  constexpr int kMaxRestarts = 1000000;
  RETURN_IF_ERROR(RefuseBesideCoordinator(flags));
  RETURN_IF_ERROR(
      ParseNumber("--max-restarts", flags.max_restarts, 0, kMaxRestarts, &job->max_restarts));
  RETURN_IF_ERROR(FillRestart(flags, job));
  job->min_world_size = job->max_world_size = job->world_size();
  RETURN_IF_ERROR(ParseNumber("--min-world-size", flags.min_world_size, 1, job->world_size(),
                              &job->min_world_size));
  return ParseNumber("--max-world-size", flags.max_world_size, job->world_size(),
                     kMaxProcesses * kMaxNodes, &job->max_world_size);
}

absl::Status FillPaths(const RunFlags& flags, LaunchPlan* plan) {
  if (flags.log_dir && flags.log_dir->empty()) {
    return Malformed("--log-dir", "", "the path of a directory");
  }
  if (flags.debug_dir && flags.debug_dir->empty()) {
    return Malformed("--debug-dir", "", "the path of a directory");
  }
  if (flags.musterd && flags.coordinator) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--musterd cannot be combined with ", flags.coordinator_source,
        ": one starts a coordinator, the other joins one that runs", UnsetHint(flags)));
  }
  plan->log_dir = flags.log_dir.value_or("");
  plan->job.debug_dir = flags.debug_dir.value_or("");
  plan->musterd = flags.musterd.value_or("");
  plan->settle = flags.settle.value_or("");
  absl::Duration settle;
  return flags.settle ? ParseDuration("--settle", *flags.settle, &settle) : absl::OkStatus();
}

absl::Status FillMetrics(const RunFlags& flags, LaunchPlan* plan) {
  if (!flags.metrics_listen) return absl::OkStatus();
  absl::StatusOr<HostPort> address = ParseMetricsAddress(*flags.metrics_listen);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics-listen: ", address.status().message()));
  }
  plan->metrics = *std::move(address);
  return absl::OkStatus();
}

absl::Status FillPty(const RunFlags& flags, LaunchPlan* plan) {
  if (flags.pty && flags.no_pty) {
    return absl::InvalidArgumentError("--pty cannot be combined with --no-pty; leave one out");
  }
  if (flags.pty) plan->pty = PtyMode::kAll;
  if (flags.no_pty) plan->pty = PtyMode::kNone;
  return absl::OkStatus();
}

absl::Status FillPmi(const RunFlags& flags, JobPlan* job) {
  const std::string pmi = flags.pmi.value_or("on");
  if (pmi == "off") {
    job->pmi = Pmi::kOff;
  } else if (pmi == "on") {
    job->pmi = Pmi::kPmi1;
  } else if (pmi == "pmix") {
    job->pmi = Pmi::kPmix;
  } else {
    return Malformed("--pmi", pmi, "on, pmix or off");
  }
  return absl::OkStatus();
}

absl::Status FillBinding(const RunFlags& flags, JobPlan* job) {
  const std::string target = flags.bind_to.value_or("none");
  if (target == "none") {
    job->bind_to = BindTo::kNone;
  } else if (target == "core") {
    job->bind_to = BindTo::kCore;
  } else if (target == "numa") {
    job->bind_to = BindTo::kNuma;
  } else {
    return Malformed("--bind-to", target, "none, core or numa");
  }
  return absl::OkStatus();
}

absl::Status FillTorchStore(const RunFlags& flags, JobPlan* job) {
  if (!flags.torch_store) return absl::OkStatus();
  if (*flags.torch_store == "loopback") {
    job->torch_store = TorchStore::kLoopback;
  } else if (*flags.torch_store == "node0") {
    job->torch_store = TorchStore::kNode0;
  } else if (*flags.torch_store != "off") {
    return Malformed("--torch-store", *flags.torch_store, "loopback, node0 or off");
  }
  return absl::OkStatus();
}

void FillUnset(const std::string& value, std::optional<std::string>* flag) {
  if (!flag->has_value() && !value.empty()) *flag = value;
}

void FillFromVariable(GetVariable get, const char* name, std::optional<std::string>* flag) {
  const char* const value = get(name);
  if (value != nullptr) FillUnset(value, flag);
}

}  // namespace

void FillFromEnvironment(GetVariable get, RunFlags* flags) {
  if (get("MUSTER_PROCESS_SECRET") != nullptr) return;
  const bool typed = flags->coordinator.has_value();
  FillFromVariable(get, "MUSTER_COORDINATOR", &flags->coordinator);
  if (!typed && flags->coordinator) flags->coordinator_source = "MUSTER_COORDINATOR";
  FillFromVariable(get, "MUSTER_JOB", &flags->job);
  if (const std::optional<ClusterPlacement> place = FindClusterPlacement(get)) {
    FillUnset(place->processes_per_node, &flags->nproc_per_node);
    // With --nnodes, the cluster may have another number of nodes. Then its node rank and address
    // are not this job's.
    if (!flags->nnodes) {
      FillUnset(place->nodes, &flags->nnodes);
      if (flags->nnodes) FillUnset(place->node_rank, &flags->node_rank);
      FillUnset(place->coordinator, &flags->coordinator);
    }
  }
  if (flags->coordinator) FillUnset(ClusterJobId(get), &flags->job);
  if (!flags->coordinator) FillFromVariable(get, "MUSTER_METRICS_LISTEN", &flags->metrics_listen);
}

absl::Status CheckName(const std::string& flag, const std::string& name) {
  const std::string expected =
      absl::StrCat("1 to ", kMaxNameBytes, " bytes of UTF-8 without control characters");
  if (name.empty()) return Malformed(flag, name, expected);
  if (name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " has ", name.size(), " bytes; expected ", expected));
  }
  const bool printable = FindUnprintable(name) == absl::string_view::npos;
  return printable ? absl::OkStatus() : Malformed(flag, name, expected);
}

absl::StatusOr<LaunchPlan> MakeLaunchPlan(const RunFlags& flags, const std::string& generated_job,
                                          const Machine& machine) {
  LaunchPlan plan;
  RETURN_IF_ERROR(FillSizes(flags, machine, &plan.job));
  RETURN_IF_ERROR(FillCoordinator(flags, generated_job, &plan.job));
  RETURN_IF_ERROR(FillCredentials(flags, &plan.job));
  RETURN_IF_ERROR(FillMasterPort(flags, &plan.job));
  RETURN_IF_ERROR(FillElasticity(flags, &plan.job));
  RETURN_IF_ERROR(FillTimes(flags, &plan.job));
  RETURN_IF_ERROR(FillPaths(flags, &plan));
  RETURN_IF_ERROR(FillMetrics(flags, &plan));
  RETURN_IF_ERROR(FillPmi(flags, &plan.job));
  RETURN_IF_ERROR(FillBinding(flags, &plan.job));
  RETURN_IF_ERROR(FillTorchStore(flags, &plan.job));
  plan.coordinator_given = flags.coordinator.has_value();
  plan.prefix = !flags.no_prefix;
  RETURN_IF_ERROR(FillPty(flags, &plan));
  plan.program = flags.program;
  if (plan.program.empty() || plan.program[0].empty()) {
    return absl::InvalidArgumentError(
        "no program given; put it after --: muster run [flags] -- program [arguments]");
  }
  return plan;
}

}  // namespace muster::cli
