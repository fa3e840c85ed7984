#include "client/cli/launch_plan.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/utf8.h"

#define RETURN_IF_ERROR(expression)                       \
  do {                                                    \
    if (absl::Status s = (expression); !s.ok()) return s; \
  } while (false)

namespace muster::cli {
namespace {

constexpr size_t kMaxNameBytes = 256;
constexpr int kMaxProcesses = 4096;  // on one node
constexpr int kMaxNodes = 65536;
constexpr int kMaxPort = 65535;

absl::Status Malformed(absl::string_view flag, absl::string_view value,
                       absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is '", Printable(value), "'; expected ", expected));
}

// Leaves `result` as it is where the flag was not given.
absl::Status ParseNumber(const char* flag, const std::optional<std::string>& text, int min, int max,
                         int* result) {
  if (!text) return absl::OkStatus();
  if (absl::SimpleAtoi(*text, result) && *result >= min && *result <= max) return absl::OkStatus();
  return Malformed(flag, *text, absl::StrCat("a whole number from ", min, " to ", max));
}

absl::Status ParseDuration(const char* flag, const std::string& text, absl::Duration* result) {
  if (absl::ParseDuration(text, result) && *result >= absl::ZeroDuration()) return absl::OkStatus();
  return Malformed(flag, text, "a duration such as 5s, 500ms or 1m30s");
}

absl::Status FillSizes(const RunFlags& flags, LaunchPlan* plan) {
  RETURN_IF_ERROR(ParseNumber("--nproc-per-node", flags.nproc_per_node, 1, kMaxProcesses,
                              &plan->nproc_per_node));
  RETURN_IF_ERROR(ParseNumber("--nnodes", flags.nnodes, 1, kMaxNodes, &plan->nnodes));
  if (plan->nnodes > 1 && !flags.coordinator) {
    return absl::InvalidArgumentError(
        absl::StrCat("--nnodes is ", plan->nnodes,
                     " and no --coordinator is given: the nodes of one job meet at one musterd; "
                     "start it and give its address to every node"));
  }
  if (plan->nnodes > 1 && !flags.node_rank) {
    return absl::InvalidArgumentError(absl::StrCat("--nnodes is ", plan->nnodes,
                                                   " and --node-rank is missing; expected 0 to ",
                                                   plan->nnodes - 1, ", another on each node"));
  }
  return ParseNumber("--node-rank", flags.node_rank, 0, plan->nnodes - 1, &plan->node_rank);
}

absl::Status FillCoordinator(const RunFlags& flags, const std::string& generated_job,
                             LaunchPlan* plan) {
  if (flags.coordinator) {
    absl::StatusOr<HostPort> address = ParseHostPort(*flags.coordinator);
    if (!address.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--coordinator: ", address.status().message()));
    }
    plan->coordinator = *std::move(address);
  }
  // A musterd that somebody else started serves the job "default" unless it was told otherwise.
  plan->job = flags.job.value_or(flags.coordinator ? "default" : generated_job);
  RETURN_IF_ERROR(CheckName("--job", plan->job));
  if (!flags.node_id) return absl::OkStatus();
  plan->node_id = *flags.node_id;
  return CheckName("--node-id", plan->node_id);
}

absl::Status FillMasterPort(const RunFlags& flags, LaunchPlan* plan) {
  if (!flags.master_port) return absl::OkStatus();
  return ParseNumber("--master-port", flags.master_port, 1, kMaxPort, &plan->master_port.emplace());
}

// A coordinator that runs already has been told these by who started it.
absl::Status RefuseBesideCoordinator(const RunFlags& flags) {
  const std::pair<const char*, bool> given[] = {
      {"--min-world-size", flags.min_world_size.has_value()},
      {"--max-world-size", flags.max_world_size.has_value()},
      {"--settle", flags.settle.has_value()}};
  for (const auto& [flag, is_given] : given) {
    if (!flags.coordinator || !is_given) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        flag, " and --coordinator exclude each other: give ", flag, " to that musterd"));
  }
  return absl::OkStatus();
}

absl::Status FillElasticity(const RunFlags& flags, LaunchPlan* plan) {
  constexpr int kMaxRestarts = 1000000;
  RETURN_IF_ERROR(RefuseBesideCoordinator(flags));
  RETURN_IF_ERROR(
      ParseNumber("--max-restarts", flags.max_restarts, 0, kMaxRestarts, &plan->max_restarts));
  plan->min_world_size = plan->max_world_size = plan->world_size();
  RETURN_IF_ERROR(ParseNumber("--min-world-size", flags.min_world_size, 1, plan->world_size(),
                              &plan->min_world_size));
  RETURN_IF_ERROR(ParseNumber("--max-world-size", flags.max_world_size, plan->world_size(),
                              kMaxProcesses * kMaxNodes, &plan->max_world_size));
  if (!flags.settle) return absl::OkStatus();
  plan->settle = *flags.settle;
  absl::Duration settle;
  return ParseDuration("--settle", plan->settle, &settle);
}

absl::Status FillPaths(const RunFlags& flags, LaunchPlan* plan) {
  if (flags.log_dir && flags.log_dir->empty()) {
    return Malformed("--log-dir", "", "the path of a directory");
  }
  if (flags.musterd && flags.coordinator) {
    return absl::InvalidArgumentError(
        "--musterd and --coordinator exclude each other: a running coordinator is joined, or one "
        "is "
        "started");
  }
  plan->log_dir = flags.log_dir.value_or("");
  plan->musterd = flags.musterd.value_or("");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckName(const std::string& flag, const std::string& name) {
  const std::string expected =
      absl::StrCat("1 to ", kMaxNameBytes, " bytes of UTF-8 without control characters");
  if (name.empty()) return Malformed(flag, name, expected);
  if (name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " has ", name.size(), " bytes; expected ", expected));
  }
  for (absl::string_view rest = name; !rest.empty();) {
    const std::optional<char32_t> c = TakeCodePoint(&rest);
    if (!c || IsControl(*c)) return Malformed(flag, name, expected);
  }
  return absl::OkStatus();
}

absl::StatusOr<LaunchPlan> MakeLaunchPlan(const RunFlags& flags, const std::string& generated_job) {
  LaunchPlan plan;
  RETURN_IF_ERROR(FillSizes(flags, &plan));
  RETURN_IF_ERROR(FillCoordinator(flags, generated_job, &plan));
  RETURN_IF_ERROR(FillMasterPort(flags, &plan));
  RETURN_IF_ERROR(FillElasticity(flags, &plan));
  RETURN_IF_ERROR(FillPaths(flags, &plan));
  RETURN_IF_ERROR(ParseDuration("--grace", flags.grace.value_or(kDefaultGrace), &plan.grace));
  RETURN_IF_ERROR(ParseDuration("--failure-wait", flags.failure_wait.value_or(kDefaultFailureWait),
                                &plan.failure_wait));
  plan.prefix = !flags.no_prefix;
  plan.program = flags.program;
  if (plan.program.empty() || plan.program[0].empty()) {
    return absl::InvalidArgumentError(
        "the program is missing; expected it after the flags: muster run [flags] -- program "
        "[arguments]");
  }
  return plan;
}

}  // namespace muster::cli
