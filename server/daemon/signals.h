#ifndef MUSTER_SERVER_DAEMON_SIGNALS_H_
#define MUSTER_SERVER_DAEMON_SIGNALS_H_

#include "absl/time/time.h"

namespace muster::daemon {

enum class Wakeup { kTerminate, kNotified, kTimeout };

// Blocks SIGTERM, SIGINT and SIGUSR1 in this thread and those it starts, so that AwaitSignal gets
// them: no handler ever runs. Ignores SIGPIPE: who reads our output may go away. Call before any
// thread starts.
void SetUpSignals();

// Blocks until SIGTERM or SIGINT (kTerminate), Notify (kNotified) or the time-out.
Wakeup AwaitSignal(absl::Duration timeout);

// Wakes AwaitSignal; from any thread.
void Notify();

// From here on SIGTERM and SIGINT end the process at once.
void UnblockTermination();

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_SIGNALS_H_
