#include "client/cli/run/node_run.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/binding/binding_plan.h"
#include "client/launcher/outcome/process_end.h"
#include "common/process/exit_codes.h"
#include "common/process/steady_now.h"
#include "common/process/termination_log.h"

namespace muster::cli {
namespace {

constexpr absl::Duration kFlushPatience = absl::Seconds(1);
// For log files, whose file system may hang.
constexpr absl::Duration kLogPatience = absl::Seconds(10);
constexpr absl::Duration kLogPoll = absl::Milliseconds(20);

}  // namespace

NodeRun::NodeRun(LaunchPlan plan, std::string program, int control_fd)
    : plan_(std::move(plan)),
      output_(&loop_, [this](bool lost) { supervisor_.OnReaderGone(lost); }),
      ranks_(&plan_, std::move(program), &output_),
      supervisor_(plan_.job, &ranks_, &loop_, control_fd) {}

int NodeRun::Run() {
  absl::Status started = ranks_.OpenLogs();
  if (started.ok() && !plan_.mpi_warning.empty()) output_.Say(plan_.mpi_warning);
  if (started.ok() && !plan_.job.cpus.empty()) {
    output_.Say(
        absl::StrCat("bound ", launcher::DescribeBinding(plan_.job.cpus, plan_.job.GlobalRank(0))));
  }
  if (started.ok()) started = supervisor_.Run();
  output_.Finish();
  const std::string summary =
      started.ok() ? supervisor_.outcome().Summary() : std::string(started.message());
  if (!summary.empty()) output_.Say(summary);
  AwaitOutput();
  const int status = started.ok() ? ExitStatus() : Refuse(started);
  if (status != 0) WriteTerminationLog(summary);
  return status;
}

int NodeRun::ExitStatus() const {
  const int status = supervisor_.outcome().ExitStatus();
  return status == 0 && output_.lost() ? exit_codes::kFailed : status;
}

// Returns the exit status for a run that could not start, as a shell does for a program that it
// cannot execute.
int NodeRun::Refuse(const absl::Status& status) {
  if (absl::IsCancelled(status)) {
    return launcher::ShellStatus({true, *supervisor_.first_ending_signal()});
  }
  if (absl::IsNotFound(status)) return exit_codes::kNotFound;
  if (absl::IsResourceExhausted(status)) return exit_codes::kUnhealthyNode;
  return absl::IsPermissionDenied(status) ? exit_codes::kNotExecutable : exit_codes::kFailed;
}

void NodeRun::AwaitOutput() {
  // A reader that has stopped must not block a user who wants to leave.
  const int signals_before = supervisor_.ending_signals();
  const absl::Time give_up =
      signals_before > 1 ? SteadyNow() + kFlushPatience : absl::InfiniteFuture();
  log_deadline_ = SteadyNow() + kLogPatience;
  while (!AllWritten() && supervisor_.ending_signals() == signals_before && SteadyNow() < give_up) {
    loop_.Poll(std::min(give_up - SteadyNow(), kLogPoll));
  }
}

bool NodeRun::AllWritten() {
  if (!output_.Shown()) return false;
  const size_t left = output_.unwritten_log_bytes();
  if (left != std::exchange(log_bytes_left_, left)) log_deadline_ = SteadyNow() + kLogPatience;
  if (left == 0 || logs_given_up_) return true;
  if (SteadyNow() < log_deadline_) return false;
  output_.Say(absl::StrCat("nothing could be written to ", plan_.log_dir, " for ",
                           absl::FormatDuration(kLogPatience), "; the last ", left,
                           " bytes of the log files are lost"));
  logs_given_up_ = true;
  return false;  // until the message is shown
}

}  // namespace muster::cli
