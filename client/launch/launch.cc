#include "muster/launch.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "client/launch/fork_check.h"
#include "client/launch/supervisor_process.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/plan/rank_environment.h"
#include "client/launcher/process/find_program.h"
#include "client/launcher/process/gpu_count.h"
#include "client/src/base/error_note.h"
#include "client/src/environment/unknown_variables.h"
#include "common/names/host_port.h"
#include "common/process/exit_codes.h"
#include "common/process/writable_folder.h"

namespace muster::internal {
namespace {

using launcher::JobPlan;

constexpr char kLoopback[] = "127.0.0.1";

absl::Status Invalid(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("LaunchOptions::", field, " ", what));
}

absl::Status CheckSizes(const LaunchOptions& options) {
  if (options.nproc_per_node < 0) {
    return Invalid("nproc_per_node", absl::StrCat("is ", options.nproc_per_node,
                                                  "; expected a number of processes, or 0"));
  }
  if (options.nnodes < 1) {
    return Invalid("nnodes", absl::StrCat("is ", options.nnodes, "; expected at least 1"));
  }
  if (options.node_rank < 0 || options.node_rank >= options.nnodes) {
    return Invalid("node_rank", absl::StrCat("is ", options.node_rank, "; expected 0 to ",
                                             options.nnodes - 1, ", different on each machine"));
  }
  if (options.nnodes > 1 && options.coordinator.empty()) {
    return Invalid("coordinator", absl::StrCat("is empty, and the job has ", options.nnodes,
                                               " machines; expected host:port of machine 0"));
  }
  if (options.failure_wait < absl::ZeroDuration()) return Invalid("failure_wait", "is negative");
  if (options.grace < absl::ZeroDuration()) return Invalid("grace", "is negative");
  return absl::OkStatus();
}

absl::Status MakeDebugDir(const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  const absl::Status made = MakeWritableFolder(folder);
  return made.ok() ? made : Invalid("debug_dir", absl::StrCat("is not usable: ", made.message()));
}

std::string JobName(const LaunchOptions& options) {
  if (!options.job.empty()) return options.job;
  if (!options.coordinator.empty()) return "default";
  std::random_device random;
  return absl::StrCat("launch-", absl::Hex(random(), absl::kZeroPad8));
}

absl::StatusOr<JobPlan> MakePlan(const LaunchOptions& options) {
  if (absl::Status status = CheckSizes(options); !status.ok()) return status;
  JobPlan plan;
  plan.job = JobName(options);
  plan.nproc_per_node =
      options.nproc_per_node > 0 ? options.nproc_per_node : std::max(1, launcher::CountOwnGpus());
  plan.nnodes = options.nnodes;
  plan.node_rank = options.node_rank;
  plan.min_world_size = plan.max_world_size = plan.world_size();
  plan.failure_wait = options.failure_wait;
  plan.grace = options.grace;
  plan.debug_dir = options.debug_dir;
  plan.coordinator = {kLoopback, 0};
  if (options.coordinator.empty()) return plan;
  const absl::StatusOr<HostPort> address = ParseHostPort(options.coordinator);
  if (!address.ok())
    return Invalid("coordinator", absl::StrCat("is not usable: ", address.status().message()));
  plan.coordinator = *address;
  plan.credentials = launcher::CredentialsFromEnvironment();
  return plan;
}

absl::StatusOr<launcher::CoordinatorCommand> MakeCoordinator(const LaunchOptions& options,
                                                             const JobPlan& plan) {
  const std::string given =
      options.musterd.empty() ? launcher::GetEnv("MUSTER_MUSTERD") : options.musterd;
  absl::StatusOr<std::string> musterd =
      launcher::FindMusterd(given, launcher::SelfPath(), launcher::GetEnv("PATH"));
  if (!musterd.ok()) return musterd.status();
  std::vector<std::string> flags = {absl::StrCat("--job=", plan.job),
                                    absl::StrCat("--world-size=", plan.world_size())};
  flags.insert(flags.end(), options.musterd_flags.begin(), options.musterd_flags.end());
  // Ranks on other machines need credentials that the user has distributed. Only a coordinator on
  // the loopback interface can use its own token.
  const bool own_token = options.coordinator.empty();
  return launcher::CoordinatorCommand{*std::move(musterd), plan.coordinator, std::move(flags),
                                      /*metrics=*/std::nullopt, own_token};
}

// Adds an exit code to an error of the launcher itself. Without it, ABORTED and UNAVAILABLE would
// blame another rank.
absl::Status AsOwnFailure(const absl::Status& error) {
  if (absl::IsInvalidArgument(error)) return error;
  return WithExitCode(error,
                      absl::IsResourceExhausted(error) ? kExitUnhealthyNode : exit_codes::kFailed);
}

}  // namespace

absl::StatusOr<LaunchResult> LaunchProcesses(
    const LaunchOptions& options, const std::function<absl::Status(int local_rank)>& body) {
  if (absl::Status status = CheckForkable(); !status.ok()) return status;
  WarnOfUnknownVariables();
  absl::StatusOr<JobPlan> plan = MakePlan(options);
  if (!plan.ok()) return plan.status();
  if (options.node_rank == 0) {
    absl::StatusOr<launcher::CoordinatorCommand> coordinator = MakeCoordinator(options, *plan);
    if (!coordinator.ok()) return coordinator.status();
    plan->hosted = *std::move(coordinator);
  }
  // Creates the folder now. Otherwise, the user would only learn of a wrong path after a hang.
  if (absl::Status made = MakeDebugDir(plan->debug_dir); !made.ok()) return made;
  absl::StatusOr<LaunchResult> result = RunSupervised(*plan, [&](int local_rank) {
    absl::Status status = options.before ? options.before() : absl::OkStatus();
    return status.ok() ? body(local_rank) : status;
  });
  return result.ok() ? result : AsOwnFailure(result.status());
}

}  // namespace muster::internal
