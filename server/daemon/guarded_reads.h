#ifndef MUSTER_SERVER_DAEMON_GUARDED_READS_H_
#define MUSTER_SERVER_DAEMON_GUARDED_READS_H_

namespace muster::daemon {

// A connection has been accepted: its peer's headers are bounded from its first byte on.
// Thread-safe.
void GuardReads(int connection);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_GUARDED_READS_H_
