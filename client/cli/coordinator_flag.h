#ifndef MUSTER_CLIENT_CLI_COORDINATOR_FLAG_H_
#define MUSTER_CLIENT_CLI_COORDINATOR_FLAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/host_port.h"

namespace muster::cli {

// The address that `source` says, which is --coordinator or a variable. INVALID_ARGUMENT names it.
absl::StatusOr<HostPort> ParseCoordinator(const std::string& source, const std::string& text);

// The same of --coordinator, for commands that cannot do without: INVALID_ARGUMENT, too, if it is
// empty.
absl::StatusOr<HostPort> RequireCoordinator(const std::string& text);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_COORDINATOR_FLAG_H_
