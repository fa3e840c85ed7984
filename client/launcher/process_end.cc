#include "client/launcher/process_end.h"

#include <string.h>
#include <sys/wait.h>

#include "absl/strings/str_cat.h"

namespace muster::launcher {

ProcessEnd FromWaitStatus(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {true, WTERMSIG(wait_status)};
  return {false, WEXITSTATUS(wait_status)};
}

std::string Describe(const ProcessEnd& end) {
  if (!end.signaled) return absl::StrCat("exited with status ", end.code);
  return absl::StrCat("was killed by signal ", end.code, " (", SignalName(end.code), ")");
}

int ShellStatus(const ProcessEnd& end) { return end.signaled ? 128 + end.code : end.code; }

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal) : absl::StrCat("SIG", name);
}

}  // namespace muster::launcher
