#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_TREE_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_TREE_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace muster::launcher {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  std::string name;  // as ps(1) shows it
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

// Value of a variable in the environment that the process, or the one that it is a fork of, was
// executed with; empty if it is not there or may not be read.
std::string VariableOf(pid_t pid, const std::string& name);

// Blocks SIGCHLD. A descriptor that becomes readable when a child ends, stops or goes on.
int ChildSignalFd();

// False if this process has no children, which of a subreaper means no descendants either.
bool HasChildren();

// SIGKILLs and reaps those of this process's descendants that `ours` picks, until none is left but
// what this user may not kill and what does not end within some seconds, in an uninterruptible
// system call. Needs BecomeSubreaper() before.
void KillDescendants(const std::function<bool(const ProcessInfo&)>& ours);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_TREE_H_
