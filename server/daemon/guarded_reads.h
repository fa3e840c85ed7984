#ifndef MUSTER_SERVER_DAEMON_GUARDED_READS_H_
#define MUSTER_SERVER_DAEMON_GUARDED_READS_H_

namespace muster::daemon {

// A connection has been accepted: its peer's headers are bounded from its first byte on.
// Thread-safe.
void GuardReads(int connection);

// A connection was closed because of its peer's headers: says so, now and then. Thread-safe.
void WarnOfLongHeaders();

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_GUARDED_READS_H_
