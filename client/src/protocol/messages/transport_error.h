#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_TRANSPORT_ERROR_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_TRANSPORT_ERROR_H_

#include "absl/status/status.h"

namespace muster::internal {

// Returns whether an error comes from the network or a proxy and not from the coordinator's
// decision. Such an error is no answer: the call is retried, or the stream reopened. The
// coordinator itself uses UNAVAILABLE and CANCELLED in this sense. It never sends UNKNOWN or
// INTERNAL, but proxies do, and gRPC does after stream resets.
inline bool IsTransportError(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsUnknown(status) || absl::IsInternal(status) ||
         absl::IsCancelled(status);
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_TRANSPORT_ERROR_H_
