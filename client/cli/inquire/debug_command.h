#ifndef MUSTER_CLIENT_CLI_INQUIRE_DEBUG_COMMAND_H_
#define MUSTER_CLIENT_CLI_INQUIRE_DEBUG_COMMAND_H_

#include <string>

#include "common/credentials/credential_files.h"

namespace muster::cli {

// The flags of `muster debug` as typed.
struct DebugFlags {
  std::string coordinator;  // empty if no flag, argument or variable gives it
  std::string job;          // empty: any job
  CredentialFiles credentials;
  std::string output;  // empty: a new folder in the current one
  std::string wait = "15s";
};

// Runs `muster debug`: asks the coordinator why the job stands still. Prints the verdict and what
// each rank is doing, and writes the files that the launchers gather into a folder or a tar.
// Returns the exit status: 0; 1 if the coordinator cannot be reached, refuses to answer, or the
// bundle cannot be written; 64 if a flag is malformed or there is no coordinator.
int RunDebugCommand(const DebugFlags& flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_DEBUG_COMMAND_H_
