#include "client/launcher/outcome/process_end.h"

#include <string.h>
#include <sys/wait.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace muster::launcher {
namespace {

// EAGAIN means too many processes; absl would map it to UNAVAILABLE, unlike the other three.
bool IsOutOfResources(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

}  // namespace

absl::Status StartError(int error, absl::string_view call) {
  const absl::Status status = absl::ErrnoToStatus(error, call);
  if (!IsOutOfResources(error)) return status;
  return absl::ResourceExhaustedError(absl::StrCat(
      status.message(),
      "; this node has no room for it: 'ulimit -n' and 'ulimit -u' show the limits of files and "
      "processes, and a container may have lower ones"));
}

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
