#include "muster/launch.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "absl/strings/str_cat.h"
#include "client/cli/find_program.h"
#include "client/launch/fork_check.h"
#include "client/launch/gpu_count.h"
#include "client/launch/supervisor_process.h"

namespace muster::internal {
namespace {

constexpr char kLoopback[] = "127.0.0.1";

absl::Status Bad(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("LaunchOptions::", field, " ", what));
}

absl::Status CheckSizes(const LaunchOptions& options) {
  if (options.nproc_per_node < 0) {
    return Bad("nproc_per_node", absl::StrCat("is ", options.nproc_per_node,
                                              "; expected a number of processes, or 0"));
  }
  if (options.nnodes < 1) {
    return Bad("nnodes", absl::StrCat("is ", options.nnodes, "; expected at least 1"));
  }
  if (options.node_rank < 0 || options.node_rank >= options.nnodes) {
    return Bad("node_rank", absl::StrCat("is ", options.node_rank, "; expected 0 to ",
                                         options.nnodes - 1, ", another on each machine"));
  }
  if (options.nnodes > 1 && options.coordinator.empty()) {
    return Bad("coordinator", absl::StrCat("is empty, and the job has ", options.nnodes,
                                           " machines; expected host:port of machine 0"));
  }
  if (options.failure_wait < absl::ZeroDuration() || options.grace < absl::ZeroDuration()) {
    return Bad("failure_wait", "or grace is negative");
  }
  return absl::OkStatus();
}

int DefaultSlots() {
  std::optional<std::string> visible;
  if (const char* value = std::getenv("CUDA_VISIBLE_DEVICES")) visible = value;
  return std::max(1, CountGpus(visible, "/dev"));
}

std::string JobName(const LaunchOptions& options) {
  if (!options.job.empty()) return options.job;
  if (!options.coordinator.empty()) return "default";
  std::random_device random;
  return absl::StrCat("launch-", absl::Hex(random(), absl::kZeroPad8));
}

absl::StatusOr<JobPlaces> MakePlaces(const LaunchOptions& options) {
  if (absl::Status status = CheckSizes(options); !status.ok()) return status;
  JobPlaces places;
  places.nproc_per_node = options.nproc_per_node > 0 ? options.nproc_per_node : DefaultSlots();
  places.nnodes = options.nnodes;
  places.node_rank = options.node_rank;
  places.job = JobName(options);
  places.coordinator = {kLoopback, 0};
  if (options.coordinator.empty()) return places;
  const absl::StatusOr<cli::HostPort> address = cli::ParseHostPort(options.coordinator);
  if (!address.ok()) return Bad("coordinator", absl::StrCat(": ", address.status().message()));
  places.coordinator = *address;
  return places;
}

absl::StatusOr<cli::CoordinatorCommand> MakeCoordinator(const LaunchOptions& options,
                                                        const JobPlaces& places) {
  const std::string given =
      options.musterd.empty() ? cli::GetEnv("MUSTER_MUSTERD") : options.musterd;
  absl::StatusOr<std::string> musterd =
      cli::FindMusterd(given, cli::SelfPath(), cli::GetEnv("PATH"));
  if (!musterd.ok()) return musterd.status();
  std::vector<std::string> flags = {absl::StrCat("--job=", places.job),
                                    absl::StrCat("--world-size=", places.world_size())};
  flags.insert(flags.end(), options.musterd_flags.begin(), options.musterd_flags.end());
  return cli::CoordinatorCommand{*std::move(musterd), places.coordinator, std::move(flags)};
}

}  // namespace

absl::StatusOr<LaunchResult> LaunchProcesses(
    const LaunchOptions& options, const std::function<absl::Status(int local_rank)>& body) {
  if (absl::Status status = CheckForkable(); !status.ok()) return status;
  absl::StatusOr<JobPlaces> places = MakePlaces(options);
  if (!places.ok()) return places.status();
  LaunchPlan plan = {*std::move(places), std::nullopt, nullptr, options.failure_wait,
                     options.grace};
  if (options.node_rank == 0) {
    absl::StatusOr<cli::CoordinatorCommand> coordinator = MakeCoordinator(options, plan.places);
    if (!coordinator.ok()) return coordinator.status();
    plan.coordinator = *std::move(coordinator);
  }
  plan.body = [&](int local_rank) {
    absl::Status status = options.before ? options.before() : absl::OkStatus();
    return status.ok() ? body(local_rank) : status;
  };
  return RunSupervised(plan);
}

}  // namespace muster::internal
