#ifndef MUSTER_CLIENT_LAUNCHER_LEFTOVER_FINDER_H_
#define MUSTER_CLIENT_LAUNCHER_LEFTOVER_FINDER_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "client/launcher/environment_reader.h"
#include "client/launcher/process_tree.h"

namespace muster::launcher {

// Finds what ranks whose processes have ended have left behind. Never waits: parents, process
// groups and sessions decide where they can, and for what they leave open EnvironmentReader looks
// for the secret that a rank's descendants inherit.
class LeftoverFinder {
 public:
  // The processes of the ranks of a node.
  struct Ranks {
    std::set<pid_t> living;  // and others that are not ranks' and may live on
    std::set<pid_t> ended;   // of which process groups may be left
  };

  // `proc` as EnvironmentReader's.
  explicit LeftoverFinder(std::string proc = "/proc");

  // Of `processes`, the descendants of this process, those that one of `ranks.ended` has left
  // behind: its process group, and what has inherited `secret` (in hexadecimal digits).
  Leftovers Of(pid_t rank, const std::string& secret, const Ranks& ranks,
               const std::vector<ProcessInfo>& processes);

 private:
  EnvironmentReader secrets_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_LEFTOVER_FINDER_H_
