#include "client/cli/inquire/health_command.h"

#include <iostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/flags/coordinator_flag.h"
#include "client/cli/inquire/coordinator_query.h"
#include "client/cli/inquire/message.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "common/process/exit_codes.h"

namespace muster::cli {
namespace {

absl::Status CheckFlags(const HealthFlags& flags, absl::Duration* timeout) {
  const absl::Status address = RequireCoordinator(flags.coordinator).status();
  if (!address.ok()) return address;
  if (absl::ParseDuration(flags.timeout, timeout) && *timeout > absl::ZeroDuration() &&
      *timeout < absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--timeout is '", flags.timeout, "'; expected a duration such as 3s or 500ms"));
}

}  // namespace

int RunHealthCommand(HealthFlags flags) {
  // Sends no token: health checks need none, and an unreadable token must not look like a failing
  // daemon.
  flags.credentials.token_file.clear();
  absl::Duration timeout;
  absl::Status usable = CheckFlags(flags, &timeout);
  if (usable.ok()) usable = PrepareForQueries(flags.credentials);
  if (!usable.ok()) return Fail(exit_codes::kBadConfiguration, usable.message());
  const absl::Status health =
      launcher::CoordinatorClient(flags.coordinator, flags.credentials).CheckHealth(timeout);
  if (health.ok()) return 0;
  return Fail(exit_codes::kFailed,
              absl::StrCat("the coordinator at ", flags.coordinator, " does not serve: ",
                           NoAnswerReason(flags.coordinator, health, timeout)));
}

}  // namespace muster::cli
