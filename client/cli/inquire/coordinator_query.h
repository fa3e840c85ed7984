#ifndef MUSTER_CLIENT_CLI_INQUIRE_COORDINATOR_QUERY_H_
#define MUSTER_CLIENT_CLI_INQUIRE_COORDINATOR_QUERY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/credentials/credential_files.h"

// Shared by `muster status` and `muster health`, which only query a coordinator.
namespace muster::cli {

// Prepares this process for calls. Silences gRPC's own log. Makes SIGINT, SIGTERM and SIGHUP end
// the process even in a container, whose first process must install handlers for that. An error
// says which credential file cannot be used.
absl::Status PrepareForQueries(const CredentialFiles& files);

// Returns why the coordinator at `address` has not answered within `timeout`, and what to check.
std::string NoAnswerReason(const std::string& address, const absl::Status& error,
                           absl::Duration timeout);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_COORDINATOR_QUERY_H_
