#ifndef MUSTER_CLIENT_CLI_COORDINATOR_FLAG_H_
#define MUSTER_CLIENT_CLI_COORDINATOR_FLAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/host_port.h"

namespace muster::cli {

// The value of --coordinator. INVALID_ARGUMENT names the flag.
absl::StatusOr<HostPort> ParseCoordinatorFlag(const std::string& text);

// The same for commands that cannot do without: INVALID_ARGUMENT, too, if it is empty.
absl::StatusOr<HostPort> RequireCoordinator(const std::string& text);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_COORDINATOR_FLAG_H_
