#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_SPAWN_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::launcher {

struct SpawnRequest {
  std::string path;               // the file to execute
  std::vector<std::string> argv;  // including argv[0]
  std::vector<std::string> env;   // "NAME=value"
  int stdout_fd = -1;
  int stderr_fd = -1;
  // Signals that the child ignores. It also undoes the launcher's own changes to signals.
  std::vector<int> ignored_signals = {};
  // Stays open in the child under its number, though it is close-on-exec. -1: none.
  int kept_fd = -1;
  // The CPUs to which the child is bound. Empty: it has this process's.
  std::vector<int> cpus = {};
};

// Notes the descriptors that this process passes on to programs. From then on, children of Spawn()
// get no others but kept_fd. Call it before a library is started whose threads open descriptors
// without O_CLOEXEC. Not thread-safe.
void PassOnNoOtherDescriptors();

// Starts a child that leads its own process group and reads /dev/null. The kernel kills it when the
// calling thread ends. Blocks until the child has executed the program. Errors have the system's
// text: of fork(), such as RESOURCE_EXHAUSTED, of sched_setaffinity(), or of execve().
absl::StatusOr<pid_t> Spawn(const SpawnRequest& request);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_SPAWN_H_
