#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_TREE_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace muster::launcher {

// A process, as observe::ProcessStat has it.
struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  uint64_t started = 0;  // observe::ProcessStat::start_ticks
  std::string name;
};

// Descendants that are to end.
struct Leftovers {
  std::vector<ProcessInfo> processes;
  std::vector<ProcessInfo> undecided;  // it is not known yet whether these are to end
};

// From now on every descendant whose parent dies becomes this process's child, double forks and
// setsid() included: so this process can find and reap them all.
void BecomeSubreaper();

// Every descendant of `root` that has not ended, in no order. Reads all of /proc, unless `root` is
// this process and has no children.
std::vector<ProcessInfo> Descendants(pid_t root);

// Takes those out for which `condition` holds.
void EraseIf(std::vector<ProcessInfo>* processes,
             const std::function<bool(const ProcessInfo&)>& condition);

// Those that do not come of a process in `known`: neither one of these, nor a descendant, nor in a
// process group or session that one of these leads.
std::vector<ProcessInfo> NotOf(std::set<pid_t> known, std::vector<ProcessInfo> processes);

// Blocks SIGCHLD. A descriptor that becomes readable when a child ends, stops or goes on.
int ChildSignalFd();

// SIGKILLs and reaps those of this process's descendants that `pick` returns, until none is left
// but what this user may not kill, what does not end within some seconds, in an uninterruptible
// system call, and what is still undecided by then. Needs BecomeSubreaper() before.
void KillDescendants(const std::function<Leftovers()>& pick);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_TREE_H_
