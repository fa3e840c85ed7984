#ifndef MUSTER_CLIENT_LAUNCHER_OUTCOME_PROCESS_END_H_
#define MUSTER_CLIENT_LAUNCHER_OUTCOME_PROCESS_END_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::launcher {

// Returns the error of a process that could not be started. `error` is the errno of `call`. Returns
// RESOURCE_EXHAUSTED if the machine, or this user's limits, have no room for another process.
absl::Status StartError(int error, absl::string_view call);

// How a process ended: with an exit status or by a signal.
struct ProcessEnd {
  bool signaled = false;
  int code = 0;  // exit status, or the signal's number

  bool clean() const { return !signaled && code == 0; }
};

// Converts the status that waitpid() stored.
ProcessEnd FromWaitStatus(int wait_status);

// Returns "exited with status 3" or "was killed by signal 9 (SIGKILL)".
std::string Describe(const ProcessEnd& end);

// Returns what a shell reports in $?: the exit status, or 128 plus the signal's number.
int ShellStatus(const ProcessEnd& end);

// Returns "SIGKILL", or "signal 42" for a signal without a name.
std::string SignalName(int signal);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_OUTCOME_PROCESS_END_H_
