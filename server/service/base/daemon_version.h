#ifndef MUSTER_SERVER_SERVICE_BASE_DAEMON_VERSION_H_
#define MUSTER_SERVER_SERVICE_BASE_DAEMON_VERSION_H_

namespace muster::service {

// Version of the daemon; CHANGELOG.md says what changed.
inline constexpr char kDaemonVersion[] = "0.1.0";

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_BASE_DAEMON_VERSION_H_
