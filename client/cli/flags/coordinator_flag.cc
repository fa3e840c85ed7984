#include "client/cli/flags/coordinator_flag.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::cli {

absl::StatusOr<HostPort> ParseCoordinator(const std::string& source, const std::string& text) {
  absl::StatusOr<HostPort> address = ParseHostPort(text);
  if (address.ok()) return address;
  return absl::InvalidArgumentError(absl::StrCat(source, ": ", address.status().message()));
}

absl::StatusOr<HostPort> RequireCoordinator(const std::string& text) {
  if (!text.empty()) return ParseCoordinator("--coordinator", text);
  return absl::InvalidArgumentError(
      "no coordinator given; use --coordinator host:port or set MUSTER_COORDINATOR");
}

}  // namespace muster::cli
