#include "client/cli/executed_ranks.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/launcher/rank_environment.h"
#include "client/launcher/spawn.h"
#include "common/writable_folder.h"

namespace muster::cli {
namespace {

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
  // Nothing goes there before something is wrong, when it is too late.
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
  const absl::StatusOr<int> out = OpenPipe(start.local_rank, Output::Stream::kStdout);
  if (!out.ok()) return out.status();
  const absl::StatusOr<int> err = OpenPipe(start.local_rank, Output::Stream::kStderr);
  if (!err.ok()) close(*out);
  if (!err.ok()) return err.status();
  const std::vector<std::string> environment =
      launcher::Merge(launcher::CurrentEnvironment(), launcher::VariablesOf(job, start));
  const absl::StatusOr<pid_t> pid =
      launcher::Spawn({program_, plan_.program, environment, *out, *err});
  close(*out);
  close(*err);
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

absl::StatusOr<int> ExecutedRanks::OpenPipe(int local_rank, Output::Stream stream) {
  const std::string prefix =
      plan_.prefix ? absl::StrCat("[", plan_.job.GlobalRank(local_rank), "] ") : "";
  return output_->OpenPipe(NameOf(local_rank), stream, prefix, logs_[local_rank]);
}

std::string ExecutedRanks::NameOf(int local_rank) const {
  return absl::StrCat("rank ", plan_.job.GlobalRank(local_rank));
}

}  // namespace muster::cli
