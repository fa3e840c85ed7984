#ifndef MUSTER_CLIENT_CLI_INQUIRE_COORDINATOR_TARGET_H_
#define MUSTER_CLIENT_CLI_INQUIRE_COORDINATOR_TARGET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/credentials/credential_files.h"
#include "common/names/host_port.h"

namespace muster::cli {

// A coordinator to call, with the credentials for it.
struct CoordinatorTarget {
  HostPort address;
  CredentialFiles credentials;
};

// Returns the coordinator at `coordinator`. If that is empty, returns all coordinators that this
// user runs on this machine, each with its own token; a non-empty `job` selects those of this job.
// Returns NOT_FOUND if there are none.
absl::StatusOr<std::vector<CoordinatorTarget>> FindCoordinatorTargets(
    const std::string& coordinator, const std::string& job, const CredentialFiles& credentials);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_COORDINATOR_TARGET_H_
