#ifndef MUSTER_CLIENT_OBSERVE_PROC_LOCKS_H_
#define MUSTER_CLIENT_OBSERVE_PROC_LOCKS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace muster::observe {

// Returns the thread that a thread waits for: the owner of a mutex, or the thread in
// pthread_join(). Returns nullopt if it waits for neither, or that cannot be found out. Knows
// glibc's mutexes, and so std::mutex.
std::optional<pid_t> AwaitedThread(pid_t pid, pid_t tid);

// The threads that a thread waits for, the nearest first. The last one waits for no thread, or
// closes a cycle: it is the first thread, or an earlier one of the chain. In a cycle, no thread
// has run while the chain was followed, so it is a deadlock.
struct LockChain {
  std::vector<pid_t> threads;  // without the first thread
  bool cycle = false;
};
LockChain FollowLocks(pid_t pid, pid_t tid);

// Returns "thread 4712 ('loader')".
std::string NameOfThread(pid_t pid, pid_t tid);

// Returns "thread 4712 ('loader'), which waits for a lock of thread 4711", or "thread 4712
// ('loader'), which is in read() of /data/x". Returns "" for an empty chain.
std::string Describe(pid_t pid, const LockChain& chain);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_PROC_LOCKS_H_
