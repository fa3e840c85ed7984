#ifndef MUSTER_CLIENT_OBSERVE_LOCKS_H_
#define MUSTER_CLIENT_OBSERVE_LOCKS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace muster::observe {

// Whom a thread waits for: the owner of the mutex, or the thread whose end it awaits. Nothing where
// it waits for neither, or that cannot be known. Knows glibc's mutexes, which std::mutex is one of.
std::optional<pid_t> AwaitedThread(pid_t pid, pid_t tid);

// The threads that a thread waits for, the nearest first; the last one waits for none, or is one
// that was there before, or the thread itself: then they wait in a circle, and none has run while
// that was found out.
struct LockChain {
  std::vector<pid_t> threads;  // without the first one
  bool circle = false;
};
LockChain FollowLocks(pid_t pid, pid_t tid);

// "thread 4712 ('loader')".
std::string NameOfThread(pid_t pid, pid_t tid);

// "thread 4712 ('loader'), which waits for a lock of thread 4711", "thread 4712 ('loader'), which
// is in read() of /data/x". Empty where `chain` is.
std::string Describe(pid_t pid, const LockChain& chain);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_LOCKS_H_
