#ifndef MUSTER_CLIENT_GLOO_CONNECTIONS_SIGPIPE_GUARD_H_
#define MUSTER_CLIENT_GLOO_CONNECTIONS_SIGPIPE_GUARD_H_

#include <signal.h>

namespace muster::internal {

// Blocks SIGPIPE in the calling thread, and in threads that it starts, for this object's lifetime.
// Needed because Gloo's writes raise SIGPIPE when the peer is gone. A SIGPIPE that arrived
// meanwhile is discarded at the end. The program's own handling of SIGPIPE does not change.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &Sigpipe(), &before_);
  }
  ~SigpipeGuard() {
    const timespec at_once{0, 0};
    if (!was_pending_) sigtimedwait(&Sigpipe(), nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;

 private:
  static const sigset_t& Sigpipe() {
    static const sigset_t set = [] {
      sigset_t only;
      sigemptyset(&only);
      sigaddset(&only, SIGPIPE);
      return only;
    }();
    return set;
  }

  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CONNECTIONS_SIGPIPE_GUARD_H_
