#include "client/cli/run/executed_ranks.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/launcher/plan/rank_environment.h"
#include "client/launcher/process/spawn.h"
#include "common/process/writable_folder.h"

namespace muster::cli {
namespace {

constexpr char kUnbuffered[] = "PYTHONUNBUFFERED";

absl::Status MakeFolder(absl::string_view flag, const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  const absl::Status made = MakeWritableFolder(folder);
  if (made.ok()) return made;
  return absl::Status(made.code(), absl::StrCat(flag, ": ", made.message()));
}

}  // namespace

ExecutedRanks::ExecutedRanks(const LaunchPlan* plan, std::string program, Output* output)
    : plan_(*plan),
      program_(std::move(program)),
      output_(output),
      logs_(plan->job.nproc_per_node) {}

absl::Status ExecutedRanks::OpenLogs() {
  absl::Status made = MakeFolder("--log-dir", plan_.log_dir);
  // Creates the folder now. Otherwise, the user would only learn of a wrong path after a hang.
  if (made.ok()) made = MakeFolder("--debug-dir", plan_.job.debug_dir);
  if (!made.ok() || plan_.log_dir.empty()) return made;
  for (size_t local_rank = 0; local_rank < logs_.size(); ++local_rank) {
    const int rank = plan_.job.GlobalRank(static_cast<int>(local_rank));
    const absl::StatusOr<int> log =
        output_->OpenLog(absl::StrCat(plan_.log_dir, "/rank-", rank, ".log"));
    if (!log.ok()) {
      return absl::UnavailableError(absl::StrCat("--log-dir: ", log.status().message()));
    }
    logs_[local_rank] = *log;
  }
  return absl::OkStatus();
}

absl::StatusOr<pid_t> ExecutedRanks::Start(const launcher::JobPlan& job,
                                           const launcher::RankStart& start) {
  const absl::StatusOr<Output::ChildFds> ends = OpenOutput(start.local_rank);
  if (!ends.ok()) return ends.status();
  launcher::RankVariables variables = launcher::VariablesOf(job, start);
  // Makes Python unbuffered, because a killed process loses its buffered output.
  if (getenv(kUnbuffered) == nullptr) variables[kUnbuffered] = "1";
  launcher::SpawnRequest request;
  request.path = program_;
  request.argv = plan_.program;
  request.env = launcher::Merge(launcher::CurrentEnvironment(), variables);
  request.stdout_fd = ends->out;
  request.stderr_fd = ends->err;
  request.kept_fd = start.mpi.pmi_fd;
  if (!job.cpus.empty()) request.cpus = job.cpus[static_cast<size_t>(start.local_rank)];
  const absl::StatusOr<pid_t> pid = launcher::Spawn(request);
  close(ends->out);
  if (ends->err != ends->out) close(ends->err);
  return pid;
}

void ExecutedRanks::Ended(int local_rank, const launcher::RankEnd&, const std::string&) {
  output_->Drain(NameOf(local_rank));
}

absl::StatusOr<int> ExecutedRanks::CoordinatorOutput() {
  return output_->OpenPipe("musterd", Output::Stream::kStderr, "[musterd] ", std::nullopt);
}

void ExecutedRanks::CoordinatorServes(const HostPort& address,
                                      const std::optional<HostPort>& page) {
  Say(absl::StrCat("the coordinator is at ", address.ToString(), "; 'muster status --job ",
                   plan_.job.job, "' shows the job",
                   page ? absl::StrCat(", and so does http://", page->ToString(), "/") : ""));
}

absl::StatusOr<Output::ChildFds> ExecutedRanks::OpenOutput(int local_rank) {
  const std::string prefix =
      plan_.prefix ? absl::StrCat("[", plan_.job.GlobalRank(local_rank), "] ") : "";
  return output_->OpenChild(NameOf(local_rank), prefix, logs_[local_rank], plan_.pty);
}

std::string ExecutedRanks::NameOf(int local_rank) const {
  return absl::StrCat("rank ", plan_.job.GlobalRank(local_rank));
}

}  // namespace muster::cli
