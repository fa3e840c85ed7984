#ifndef MUSTER_SERVER_DAEMON_SIGNALS_H_
#define MUSTER_SERVER_DAEMON_SIGNALS_H_

#include "absl/time/time.h"

namespace muster::daemon {

enum class Wakeup { kTerminate, kReload, kNotified, kTimeout };

// Blocks SIGTERM, SIGINT, SIGHUP and SIGUSR1 in this thread and those it starts, so that
// AwaitSignal gets them: no handler ever runs. Ignores SIGPIPE, because who reads our output may go
// away, and SIGUSR2, which means nothing here. Call before any thread starts.
void SetUpSignals();

// Blocks until SIGTERM or SIGINT (kTerminate), SIGHUP (kReload), Notify (kNotified) or the
// time-out.
Wakeup AwaitSignal(absl::Duration timeout);

// Wakes AwaitSignal; from any thread.
void Notify();

// From here on SIGTERM and SIGINT end the process at once.
void UnblockTermination();

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_SIGNALS_H_
