#ifndef MUSTER_CLIENT_CLI_STATUS_COMMAND_H_
#define MUSTER_CLIENT_CLI_STATUS_COMMAND_H_

#include <optional>
#include <string>

#include "common/credential_files.h"

namespace muster::cli {

// The flags of `muster status` as they were typed.
struct StatusFlags {
  std::string coordinator;  // empty: not given, in no way
  std::string job;          // empty: any
  CredentialFiles credentials;
  bool json = false;
  bool exit_code = false;            // says whether the job has failed
  std::optional<std::string> watch;  // interval; empty: the default one
};

inline constexpr char kDefaultWatchInterval[] = "2s";

// `muster status`: prints the job's status, or that of each job of this user and machine, once; or,
// watching, until it is interrupted, also while the coordinator cannot be reached. Returns the exit
// status: 0; 1 if the coordinator cannot be reached or refuses to tell, or if the job has failed
// and the flag asks for that; 64 for a malformed flag, or where there is no coordinator.
int RunStatusCommand(const StatusFlags& flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_STATUS_COMMAND_H_
