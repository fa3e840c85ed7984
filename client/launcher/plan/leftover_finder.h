#ifndef MUSTER_CLIENT_LAUNCHER_PLAN_LEFTOVER_FINDER_H_
#define MUSTER_CLIENT_LAUNCHER_PLAN_LEFTOVER_FINDER_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "client/launcher/process/environment_reader.h"
#include "client/launcher/process/process_tree.h"

namespace muster::launcher {

// Finds the processes that ended ranks have left behind. Never blocks. Parents, process groups and
// sessions decide most cases. For the rest, EnvironmentReader looks for the process secret, which a
// rank's descendants inherit.
class LeftoverFinder {
 public:
  // The processes of the ranks of a node.
  struct Ranks {
    std::set<pid_t> living;  // and other processes that may keep running, such as the coordinator
    std::set<pid_t> ended;   // their process groups may still have processes
  };

  // `proc` is as in EnvironmentReader.
  explicit LeftoverFinder(std::string proc = "/proc");

  // Returns the processes that `rank`, one of `ranks.ended`, has left behind: its process group,
  // and processes that inherited `secret` (hexadecimal). `processes` are all descendants of this
  // process.
  Leftovers Find(pid_t rank, const std::string& secret, const Ranks& ranks,
                 const std::vector<ProcessInfo>& processes);

 private:
  EnvironmentReader secrets_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PLAN_LEFTOVER_FINDER_H_
