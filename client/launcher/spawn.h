#ifndef MUSTER_CLIENT_LAUNCHER_SPAWN_H_
#define MUSTER_CLIENT_LAUNCHER_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::launcher {

struct SpawnRequest {
  std::string path;               // the file to execute
  std::vector<std::string> argv;  // argv[0] included
  std::vector<std::string> env;   // "NAME=value"
  int stdout_fd = -1;
  int stderr_fd = -1;
  std::vector<int> ignored_signals = {};  // in the child; every other one is as by default
};

// Starts a child that leads a process group of its own, reads /dev/null and is killed when this
// process's calling thread ends. Blocks until the program is executed. Errors carry the system's
// text: of fork() (RESOURCE_EXHAUSTED...) or of execve().
absl::StatusOr<pid_t> Spawn(const SpawnRequest& request);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_SPAWN_H_
