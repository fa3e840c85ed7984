#ifndef MUSTER_CLIENT_CLI_INQUIRE_HEALTH_COMMAND_H_
#define MUSTER_CLIENT_CLI_INQUIRE_HEALTH_COMMAND_H_

#include <string>

#include "common/credentials/credential_files.h"

namespace muster::cli {

// The flags of `muster health` as typed.
struct HealthFlags {
  std::string coordinator;  // empty if no flag, argument or variable gives it
  CredentialFiles credentials;
  std::string timeout = "3s";
};

// Runs `muster health`: asks grpc.health.v1 whether the coordinator serves. Returns the exit
// status: 0 if it does; 1 if it does not, after printing the reason in one line; 64 if a flag is
// malformed or a file cannot be used.
int RunHealthCommand(HealthFlags flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_HEALTH_COMMAND_H_
