#include "client/cli/status_command.h"

#include <unistd.h>

#include <iostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/coordinator_client.h"
#include "client/cli/host_port.h"
#include "client/cli/status_report.h"

namespace muster::cli {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitBadArguments = 2;
constexpr absl::Duration kCallTimeout = absl::Seconds(3);
constexpr absl::Duration kShortestInterval = absl::Milliseconds(100);
constexpr char kClearScreen[] = "\033[H\033[2J";

absl::StatusOr<HostPort> Coordinator(const StatusFlags& flags) {
  if (flags.coordinator.empty()) {
    return absl::InvalidArgumentError(
        "no coordinator is named: give --coordinator host:port or set MUSTER_COORDINATOR");
  }
  absl::StatusOr<HostPort> address = ParseHostPort(flags.coordinator);
  if (address.ok()) return address;
  return absl::InvalidArgumentError(absl::StrCat("--coordinator: ", address.status().message()));
}

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

absl::StatusOr<std::string> Text(CoordinatorClient* client, bool json) {
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

}  // namespace

int RunStatusCommand(const StatusFlags& flags) {
  const absl::StatusOr<HostPort> address = Coordinator(flags);
  if (!address.ok()) return Fail(kExitBadArguments, address.status().message());
  const absl::StatusOr<absl::Duration> interval = WatchInterval(flags.watch.value_or(""));
  if (!interval.ok()) return Fail(kExitBadArguments, interval.status().message());
  CoordinatorClient client(address->ToString());
  while (true) {
    const absl::StatusOr<std::string> text = Text(&client, flags.json);
    if (!text.ok()) {
      return Fail(kExitFailure, absl::StrCat("no status from the coordinator at ",
                                             address->ToString(), ": ", text.status().message(),
                                             "; check that musterd runs there and can be reached"));
    }
    Show(*text, flags.watch.has_value());
    if (!flags.watch || !std::cout) return 0;
    absl::SleepFor(*interval);
  }
}

}  // namespace muster::cli
