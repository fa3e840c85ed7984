#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_ENVIRONMENT_READER_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_ENVIRONMENT_READER_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/launcher/process/process_tree.h"

namespace muster::launcher {

// Reads one variable from the environments of other processes, without blocking. The kernel blocks
// such a read while the process changes its memory map. If a driver or a file system hangs, that
// lasts forever. Therefore each read runs on a thread that is never joined. Not thread-safe.
class EnvironmentReader {
 public:
  // `proc` is the /proc folder; tests pass their own.
  explicit EnvironmentReader(std::string variable, std::string proc = "/proc");

  // Returns the variable of each process, in order. A value is empty if the process does not have
  // the variable, or may not be read. It is nullopt if it is not known yet; then call again later.
  // The environment is from the latest execve() of the process, or of the process that it was
  // forked from. Forgets all processes that are not listed.
  std::vector<std::optional<std::string>> ValuesOf(const std::vector<ProcessInfo>& processes);

 private:
  struct Read;
  using ProcessKey = std::pair<pid_t, uint64_t>;  // pid and start time

  std::shared_ptr<Read> Begin(pid_t pid) const;

  const std::string variable_;
  const std::string proc_;
  std::map<ProcessKey, std::shared_ptr<Read>> reads_;  // shared with threads that may hang
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_ENVIRONMENT_READER_H_
