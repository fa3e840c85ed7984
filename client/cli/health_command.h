#ifndef MUSTER_CLIENT_CLI_HEALTH_COMMAND_H_
#define MUSTER_CLIENT_CLI_HEALTH_COMMAND_H_

#include <string>

#include "common/credential_files.h"

namespace muster::cli {

// The flags of `muster health` as they were typed.
struct HealthFlags {
  std::string coordinator;  // empty: not given, in no way
  CredentialFiles credentials;
  std::string timeout = "3s";
};

// `muster health`: whether the coordinator serves, as grpc.health.v1 says. Returns the exit status:
// 0 if it does; 1, after one line with the reason, if not; 64 for a malformed flag or a file that
// cannot be used.
int RunHealthCommand(HealthFlags flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_HEALTH_COMMAND_H_
