#ifndef MUSTER_CLIENT_SRC_PROTOCOL_TRANSPORT_ERROR_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_TRANSPORT_ERROR_H_

#include "absl/status/status.h"

namespace muster::internal {

// Whether an error tells of the way to the coordinator, or of what sits in between, and not of what
// was asked: it is no answer, so the call is repeated, or the stream opened again. A coordinator
// says UNAVAILABLE and CANCELLED in this sense itself; UNKNOWN and INTERNAL it says never, but
// proxies do, and gRPC, of streams that were reset.
inline bool IsTransportError(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsUnknown(status) || absl::IsInternal(status) ||
         absl::IsCancelled(status);
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_TRANSPORT_ERROR_H_
