#ifndef MUSTER_SERVER_DAEMON_SIGNALS_H_
#define MUSTER_SERVER_DAEMON_SIGNALS_H_

#include "absl/time/time.h"

namespace muster::daemon {

enum class Wakeup { kTerminate, kReload, kNotified, kTimeout };

// Prepares the process for AwaitSignal(). Blocks SIGTERM, SIGINT, SIGHUP and SIGUSR1 in this thread
// and the threads that it starts, so that AwaitSignal() receives them and no handler runs. Ignores
// SIGPIPE, since readers of the output may go away, and SIGUSR2, which has no meaning here. Call it
// before any thread starts.
void SetUpSignals();

// Blocks until SIGTERM or SIGINT (kTerminate), SIGHUP (kReload), Notify() (kNotified) or the
// time-out (kTimeout).
Wakeup AwaitSignal(absl::Duration timeout);

// Wakes AwaitSignal(). Callable from any thread.
void Notify();

// Lets SIGTERM and SIGINT end the process at once from now on.
void UnblockTermination();

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_SIGNALS_H_
