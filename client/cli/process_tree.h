#ifndef MUSTER_CLIENT_CLI_PROCESS_TREE_H_
#define MUSTER_CLIENT_CLI_PROCESS_TREE_H_

#include <sys/types.h>

#include <vector>

namespace muster::cli {

// From now on every descendant whose parent dies becomes this process's child, double forks and
// setsid() included: so this process can find and reap them all.
void BecomeSubreaper();

// Every living or unreaped descendant of `root`, in no order.
std::vector<pid_t> Descendants(pid_t root);

// SIGKILLs and reaps this process's descendants until none is left. Needs BecomeSubreaper() before.
// Blocks while one of them is in an uninterruptible system call.
void KillDescendants();

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_PROCESS_TREE_H_
