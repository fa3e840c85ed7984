#ifndef MUSTER_CLIENT_LAUNCHER_ENVIRONMENT_READER_H_
#define MUSTER_CLIENT_LAUNCHER_ENVIRONMENT_READER_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/launcher/process_tree.h"

namespace muster::launcher {

// Reads a variable from the environments of other processes, and waits for none of them. The kernel
// lets such a read wait for as long as the process changes its memory map, which in a driver or on
// a file system that hangs may be for good. So each read has a thread that nobody waits for. Of one
// thread.
class EnvironmentReader {
 public:
  // `proc` is where the kernel shows its processes; tests have a folder of their own.
  explicit EnvironmentReader(std::string variable, std::string proc = "/proc");

  // What is known of each of these processes: the variable in the environment that the process, or
  // the one that it is a fork of, was executed with; empty if it has none, or may not be read;
  // nullopt if it is not known yet. Then a later call may know. Forgets all other processes.
  std::vector<std::optional<std::string>> ValuesOf(const std::vector<ProcessInfo>& processes);

 private:
  struct Read;
  using Name = std::pair<pid_t, uint64_t>;  // pid and start

  std::shared_ptr<Read> Begin(pid_t pid) const;

  const std::string variable_;
  const std::string proc_;
  std::map<Name, std::shared_ptr<Read>> reads_;  // shared with threads that may hang
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_ENVIRONMENT_READER_H_
