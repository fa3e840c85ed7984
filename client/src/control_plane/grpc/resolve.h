#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_RESOLVE_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_RESOLVE_H_

#include "absl/status/status.h"
#include "client/src/base/deadline.h"
#include "common/names/host_port.h"

namespace muster::internal {

// Blocks until the host of `address` resolves. Returns at once for an IP address. Retries a name
// that does not resolve, because a starting cluster may publish it later. Returns DEADLINE_EXCEEDED
// with the resolver's last error, or CANCELLED.
absl::Status AwaitResolvable(const HostPort& address, const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_RESOLVE_H_
