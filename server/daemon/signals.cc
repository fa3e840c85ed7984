#include "server/daemon/signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

namespace muster::daemon {
namespace {

// The longest wait of one call, because sigtimedwait needs a bound. Callers that wait longer call
// again.
constexpr absl::Duration kLongest = absl::Hours(1);

sigset_t Set(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

sigset_t Awaited() { return Set({SIGTERM, SIGINT, SIGHUP, SIGUSR1}); }

}  // namespace

void SetUpSignals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGUSR2, SIG_IGN);
  // The first process of a container inherits orphans. Ignoring SIGCHLD keeps them from becoming
  // zombies.
  signal(SIGCHLD, SIG_IGN);
  while (waitpid(-1, nullptr, WNOHANG) > 0) {  // reap orphans that have ended already
  }
  const sigset_t set = Awaited();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Wakeup AwaitSignal(absl::Duration timeout) {
  const sigset_t set = Awaited();
  const timespec limit = absl::ToTimespec(std::clamp(timeout, absl::ZeroDuration(), kLongest));
  switch (sigtimedwait(&set, nullptr, &limit)) {
    case SIGTERM:
    case SIGINT:
      return Wakeup::kTerminate;
    case SIGHUP:
      return Wakeup::kReload;
    case SIGUSR1:
      return Wakeup::kNotified;
    default:
      return Wakeup::kTimeout;
  }
}

void Notify() { kill(getpid(), SIGUSR1); }

void UnblockTermination() {
  const sigset_t set = Set({SIGTERM, SIGINT});
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace muster::daemon
