#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_PROCESS_TREE_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace muster::launcher {

// A process, as in observe::ProcessStat.
struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  uint64_t started = 0;  // observe::ProcessStat::start_ticks
  std::string name;
};

// Descendants of this process that have to end.
struct Leftovers {
  std::vector<ProcessInfo> processes;
  std::vector<ProcessInfo> undecided;  // not known yet whether they have to end
};

// Makes this process a subreaper: every descendant whose parent dies becomes its child, even after
// a double fork or setsid(). So this process can find and reap all of them.
void BecomeSubreaper();

// Returns every descendant of `root` that has not ended, in no order. Reads all of /proc, unless
// `root` is this process and has no children.
std::vector<ProcessInfo> Descendants(pid_t root);

// Erases the processes for which `condition` is true.
void EraseIf(std::vector<ProcessInfo>* processes,
             const std::function<bool(const ProcessInfo&)>& condition);

// Returns the processes that do not stem from a process in `known`. A process stems from `known` if
// it is in it, descends from it, or is in a process group or session led by such a process.
std::vector<ProcessInfo> WithoutDescendantsOf(std::set<pid_t> known,
                                              std::vector<ProcessInfo> processes);

// Blocks SIGCHLD, and returns a descriptor that becomes readable when a child ends, stops or
// continues.
int ChildSignalFd();

// Sends SIGKILL to the descendants that `pick` returns, and reaps them, until `pick` returns no
// more. Processes that this user may not kill are left alone. Gives up after five seconds, for
// example if a process hangs in an uninterruptible system call or stays undecided. Needs
// BecomeSubreaper() before.
void KillDescendants(const std::function<Leftovers()>& pick);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_PROCESS_TREE_H_
