#include "client/cli/inquire/status_command.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/inquire/coordinator_query.h"
#include "client/cli/inquire/coordinator_target.h"
#include "client/cli/inquire/message.h"
#include "client/cli/inquire/status_report.h"
#include "client/cli/text/terminal_width.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "common/names/host_port.h"
#include "common/process/exit_codes.h"

namespace muster::cli {
namespace {

using muster::v1::GetStatusResponse;

constexpr absl::Duration kStatusTimeout = absl::Seconds(3);
constexpr absl::Duration kMinInterval = absl::Milliseconds(100);
constexpr char kClearScreen[] = "\033[H\033[2J";

absl::StatusOr<absl::Duration> WatchInterval(const std::string& text) {
  absl::Duration interval;
  if (absl::ParseDuration(text.empty() ? kDefaultWatchInterval : text, &interval) &&
      interval >= kMinInterval) {
    return interval;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--watch is '", text, "'; expected a duration of 100ms or more, such as 2s"));
}

absl::StatusOr<std::string> Text(const GetStatusResponse& status, bool json) {
  if (json) return StatusJson(status);
  return StatusReport(status, TerminalWidth());
}

bool HasFailed(const GetStatusResponse& status) {
  return status.state() == muster::v1::JOB_STATE_FAILED;
}

bool HasEnded(const GetStatusResponse& status) {
  return HasFailed(status) || status.state() == muster::v1::JOB_STATE_FINISHED;
}

// Prints a snapshot. On a terminal, it replaces the previous one; elsewhere it is appended.
void Show(const std::string& text, bool redraw) {
  if (redraw && isatty(STDOUT_FILENO) != 0) std::cout << kClearScreen;
  std::cout << text << std::flush;
}

std::string NoStatusMessage(const HostPort& address, const absl::Status& why) {
  return absl::StrCat("no status from the coordinator at ", address.ToString(), ": ",
                      NoAnswerReason(address.ToString(), why, kStatusTimeout));
}

int ShowOnce(const CoordinatorTarget& target, const StatusFlags& flags) {
  launcher::CoordinatorClient client(target.address.ToString(), target.credentials);
  const absl::StatusOr<GetStatusResponse> status =
      client.GetStatus(kStatusTimeout, /*wait_for_connection=*/false, flags.job,
                       /*with_timeline=*/flags.json);
  const absl::StatusOr<std::string> text =
      status.ok() ? Text(*status, flags.json) : status.status();
  if (!text.ok()) return Fail(exit_codes::kFailed, NoStatusMessage(target.address, text.status()));
  Show(*text, /*redraw=*/false);
  return flags.exit_code && HasFailed(*status) ? exit_codes::kFailed : 0;
}

int ShowAll(const std::vector<CoordinatorTarget>& all, const StatusFlags& flags) {
  int worst = 0;
  for (const CoordinatorTarget& target : all) {
    if (&target != &all.front() && !flags.json) std::cout << "\n";
    worst = std::max(worst, ShowOnce(target, flags));
  }
  return worst;
}

// Prints the status repeatedly. Continues while the coordinator cannot be reached, because it may
// be restarting.
class Watch {
 public:
  Watch(const CoordinatorTarget& target, const StatusFlags& flags, absl::Duration interval)
      : address_(target.address),
        job_(flags.job),
        json_(flags.json),
        ends_with_job_(flags.exit_code),
        interval_(interval),
        client_(address_.ToString(), target.credentials) {}

  // Returns when standard output fails, or the job has ended and the user asked to stop then.
  int Run() {
    while (std::cout) {
      const absl::StatusOr<GetStatusResponse> status = client_.GetStatus(
          kStatusTimeout, /*wait_for_connection=*/false, job_, /*with_timeline=*/json_);
      const absl::StatusOr<std::string> text = status.ok() ? Text(*status, json_) : status.status();
      text.ok() ? OnStatus(*text) : OnFailure(text.status());
      if (status.ok() && ends_with_job_ && HasEnded(*status)) {
        return HasFailed(*status) ? exit_codes::kFailed : 0;
      }
      absl::SleepFor(interval_);
    }
    return 0;
  }

 private:
  void OnStatus(const std::string& text) {
    last_text_ = text;
    last_time_ = absl::Now();
    Show(text, /*redraw=*/true);
  }

  void OnFailure(const absl::Status& why) {
    const std::string retry =
        absl::StrCat("; trying again every ", absl::FormatDuration(interval_));
    const std::string problem =
        absl::StrCat("muster: ", NoStatusMessage(address_, why), retry, "\n");
    // Programs read JSON from standard output, so problems go to standard error.
    if (json_) {
      std::cerr << problem;
    } else {
      Show(absl::StrCat(problem, LastKnown()), /*redraw=*/true);
    }
  }

  // Returns the previous status, which the message has replaced on the terminal.
  std::string LastKnown() const {
    if (last_text_.empty() || isatty(STDOUT_FILENO) == 0) return "";
    return absl::StrCat("\nstatus ", BriefDuration(absl::Now() - last_time_), " ago:\n\n",
                        last_text_);
  }

  const HostPort address_;
  const std::string job_;
  const bool json_;
  const bool ends_with_job_;
  const absl::Duration interval_;
  launcher::CoordinatorClient client_;
  std::string last_text_;
  absl::Time last_time_;
};

// Returns the credentials that the user chose. A run of this machine has its own token, which is
// read when it is asked: a run that is ending, whose token is gone, hides no other one.
CredentialFiles GivenCredentials(const StatusFlags& flags) {
  CredentialFiles given = flags.credentials;
  if (flags.coordinator.empty()) given.token_file.clear();
  return given;
}

absl::Status CheckWatch(const StatusFlags& flags, const std::vector<CoordinatorTarget>& targets) {
  if (!flags.watch || targets.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--watch shows one job, and there are ", targets.size(),
                   " here; say which by --job ('muster status' names them), or --coordinator"));
}

}  // namespace

int RunStatusCommand(const StatusFlags& flags) {
  const absl::StatusOr<absl::Duration> interval = WatchInterval(flags.watch.value_or(""));
  if (!interval.ok()) return Fail(exit_codes::kBadConfiguration, interval.status().message());
  const absl::StatusOr<std::vector<CoordinatorTarget>> targets =
      FindCoordinatorTargets(flags.coordinator, flags.job, flags.credentials);
  if (absl::IsNotFound(targets.status()))
    return Fail(exit_codes::kFailed, targets.status().message());
  if (!targets.ok()) return Fail(exit_codes::kBadConfiguration, targets.status().message());
  absl::Status usable = CheckWatch(flags, *targets);
  if (usable.ok()) usable = PrepareForQueries(GivenCredentials(flags));
  if (!usable.ok()) return Fail(exit_codes::kBadConfiguration, usable.message());
  return flags.watch ? Watch(targets->front(), flags, *interval).Run() : ShowAll(*targets, flags);
}

}  // namespace muster::cli
