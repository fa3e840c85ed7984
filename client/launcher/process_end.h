#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_END_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_END_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::launcher {

// Why a process could not be started: what `call` left in errno. RESOURCE_EXHAUSTED where this
// machine, or what the caller may use of it, has no room for one more.
absl::Status StartError(int error, absl::string_view call);

// How a process ended.
struct ProcessEnd {
  bool signaled = false;
  int code = 0;  // exit status, or the signal's number

  bool clean() const { return !signaled && code == 0; }
};

// From what waitpid() stored.
ProcessEnd FromWaitStatus(int wait_status);

// "exited with status 3", "was killed by signal 9 (SIGKILL)".
std::string Describe(const ProcessEnd& end);

// What a shell reports in $?: the exit status, or 128 and the signal's number.
int ShellStatus(const ProcessEnd& end);

// "SIGKILL"; "signal 42" for a signal without a name.
std::string SignalName(int signal);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_END_H_
