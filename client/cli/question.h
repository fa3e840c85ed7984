#ifndef MUSTER_CLIENT_CLI_QUESTION_H_
#define MUSTER_CLIENT_CLI_QUESTION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/credential_files.h"

// What `muster status` and `muster health` share: they ask a coordinator, and that is all.
namespace muster::cli {

// Makes this process ready to ask: gRPC writes nothing beside the command's own words, and SIGINT,
// SIGTERM and SIGHUP end it in a container too, where its first process has to see to that itself.
// An error says which of the files cannot be used.
absl::Status PrepareToAsk(const CredentialFiles& files);

// Says why the coordinator at `address` has not answered within `timeout`, and what to look at.
std::string WhyNoAnswer(const std::string& address, const absl::Status& error,
                        absl::Duration timeout);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_QUESTION_H_
