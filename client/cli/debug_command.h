#ifndef MUSTER_CLIENT_CLI_DEBUG_COMMAND_H_
#define MUSTER_CLIENT_CLI_DEBUG_COMMAND_H_

#include <string>

#include "common/credential_files.h"

namespace muster::cli {

// The flags of `muster debug` as they were typed.
struct DebugFlags {
  std::string coordinator;  // empty: not given, in no way
  std::string job;          // empty: any
  CredentialFiles credentials;
  std::string output;  // empty: a folder of its own here
  std::string wait = "15s";
};

// `muster debug`: asks why the job stands still. Prints the verdict and what each rank is doing,
// and writes all that the launchers have gathered into a folder or a tar. Returns the exit status:
// 0; 1 if the coordinator cannot be reached or refuses to tell, or the bundle cannot be written; 64
// for a malformed flag, or where there is no coordinator.
int RunDebugCommand(const DebugFlags& flags);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_DEBUG_COMMAND_H_
