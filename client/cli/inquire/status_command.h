#ifndef MUSTER_CLIENT_CLI_INQUIRE_STATUS_COMMAND_H_
#define MUSTER_CLIENT_CLI_INQUIRE_STATUS_COMMAND_H_

#include <optional>
#include <string>

#include "common/credentials/credential_files.h"

namespace muster::cli {

// The flags of `muster status` as typed.
struct StatusFlags {
  std::string coordinator;  // empty if no flag, argument or variable gives it
  std::string job;          // empty: any job
  CredentialFiles credentials;
  bool json = false;
  bool exit_code = false;            // the exit status says whether the job has failed
  std::optional<std::string> watch;  // interval; empty: the default
};

inline constexpr char kDefaultWatchInterval[] = "2s";

// Runs `muster status`: prints the job's status, or the status of each job of this user on this
// machine. With --watch, repeats until it is interrupted, even while the coordinator cannot be
// reached. Returns the exit status: 0; 1 if the coordinator cannot be reached or refuses to answer,
// or if the job has failed and --exit-code was given; 64 if a flag is malformed or there is no
// coordinator.
int RunStatusCommand(const StatusFlags& flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_STATUS_COMMAND_H_
