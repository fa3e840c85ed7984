#ifndef MUSTER_CLIENT_CLI_FLAGS_COORDINATOR_FLAG_H_
#define MUSTER_CLIENT_CLI_FLAGS_COORDINATOR_FLAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/names/host_port.h"

namespace muster::cli {

// Parses a coordinator's address. `source` is where it comes from, --coordinator or a variable;
// INVALID_ARGUMENT names it.
absl::StatusOr<HostPort> ParseCoordinator(const std::string& source, const std::string& text);

// Parses --coordinator for commands that need it: an empty value is INVALID_ARGUMENT too.
absl::StatusOr<HostPort> RequireCoordinator(const std::string& text);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_FLAGS_COORDINATOR_FLAG_H_
