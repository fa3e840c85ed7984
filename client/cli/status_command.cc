#include "client/cli/status_command.h"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/coordinator_flag.h"
#include "client/cli/question.h"
#include "client/cli/status_report.h"
#include "client/launcher/coordinator_client.h"
#include "common/exit_codes.h"
#include "common/host_port.h"

namespace muster::cli {
namespace {

constexpr int kExitFailure = 1;
constexpr absl::Duration kCallTimeout = absl::Seconds(3);
constexpr absl::Duration kShortestInterval = absl::Milliseconds(100);
constexpr char kClearScreen[] = "\033[H\033[2J";

absl::StatusOr<absl::Duration> WatchInterval(const std::string& text) {
  absl::Duration interval;
  if (absl::ParseDuration(text.empty() ? kDefaultWatchInterval : text, &interval) &&
      interval >= kShortestInterval) {
    return interval;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--watch is '", text, "'; expected a duration of 100ms or more, such as 2s"));
}

int Fail(int exit_status, absl::string_view text) {
  std::cerr << absl::StrCat("muster: ", text, "\n");
  return exit_status;
}

absl::StatusOr<std::string> Text(launcher::CoordinatorClient* client, bool json) {
  const absl::StatusOr<muster::v1::GetStatusResponse> status = client->GetStatus(kCallTimeout);
  if (!status.ok()) return status.status();
  if (json) return StatusJson(*status);
  return StatusReport(*status);
}

// Each picture replaces the one before on a terminal, and follows it elsewhere.
void Show(const std::string& text, bool redraw) {
  if (redraw && isatty(STDOUT_FILENO) != 0) std::cout << kClearScreen;
  std::cout << text << std::flush;
}

std::string OutOfReach(const HostPort& address, const absl::Status& why) {
  return absl::StrCat("no status from the coordinator at ", address.ToString(), ": ",
                      WhyNoAnswer(why, kCallTimeout));
}

int ShowOnce(launcher::CoordinatorClient* client, const HostPort& address, bool json) {
  const absl::StatusOr<std::string> text = Text(client, json);
  if (!text.ok()) return Fail(kExitFailure, OutOfReach(address, text.status()));
  Show(*text, /*redraw=*/false);
  return 0;
}

// Goes on while the coordinator is out of reach: it may be about to be started again.
class Watch {
 public:
  Watch(HostPort address, const StatusFlags& flags, absl::Duration interval)
      : address_(std::move(address)),
        json_(flags.json),
        interval_(interval),
        client_(address_.ToString(), flags.credentials) {}

  // Until standard output takes no more.
  int Run() {
    while (std::cout) {
      const absl::StatusOr<std::string> text = Text(&client_, json_);
      text.ok() ? OnStatus(*text) : OnFailure(text.status());
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
    const std::string problem = absl::StrCat("muster: ", OutOfReach(address_, why), retry, "\n");
    // JSON is for programs, which read standard output.
    if (json_) {
      std::cerr << problem;
    } else {
      Show(absl::StrCat(problem, LastKnown()), /*redraw=*/true);
    }
  }

  // On a terminal, what the message has replaced there.
  std::string LastKnown() const {
    if (last_text_.empty() || isatty(STDOUT_FILENO) == 0) return "";
    return absl::StrCat("\nstatus ", BriefDuration(absl::Now() - last_time_), " ago:\n\n",
                        last_text_);
  }

  const HostPort address_;
  const bool json_;
  const absl::Duration interval_;
  launcher::CoordinatorClient client_;
  std::string last_text_;
  absl::Time last_time_;
};

}  // namespace

int RunStatusCommand(const StatusFlags& flags) {
  const absl::StatusOr<HostPort> address = RequireCoordinator(flags.coordinator);
  if (!address.ok()) return Fail(exit_codes::kBadConfiguration, address.status().message());
  const absl::StatusOr<absl::Duration> interval = WatchInterval(flags.watch.value_or(""));
  if (!interval.ok()) return Fail(exit_codes::kBadConfiguration, interval.status().message());
  if (absl::Status usable = PrepareToAsk(flags.credentials); !usable.ok()) {
    return Fail(exit_codes::kBadConfiguration, usable.message());
  }
  if (flags.watch) return Watch(*address, flags, *interval).Run();
  launcher::CoordinatorClient client(address->ToString(), flags.credentials);
  return ShowOnce(&client, *address, flags.json);
}

}  // namespace muster::cli
