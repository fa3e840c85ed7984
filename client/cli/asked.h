#ifndef MUSTER_CLIENT_CLI_ASKED_H_
#define MUSTER_CLIENT_CLI_ASKED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/credential_files.h"
#include "common/host_port.h"

namespace muster::cli {

// A coordinator to ask.
struct Asked {
  HostPort address;
  CredentialFiles credentials;
};

// The one at `coordinator`; where that is empty, all that this user runs on this machine, each with
// its own token, of the job `job` if that is not empty. NOT_FOUND: none runs.
absl::StatusOr<std::vector<Asked>> FindAsked(const std::string& coordinator, const std::string& job,
                                             const CredentialFiles& credentials);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_ASKED_H_
