#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_RESOLVE_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_RESOLVE_H_

#include "absl/status/status.h"
#include "client/src/base/deadline.h"
#include "common/host_port.h"

namespace muster::internal {

// Blocks until the host of `address` resolves; at once where it is an IP address. A name that does
// not resolve is asked for again: in a cluster that is starting, it may be announced later.
// DEADLINE_EXCEEDED with the resolver's last word; CANCELLED.
absl::Status AwaitResolvable(const HostPort& address, const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_RESOLVE_H_
