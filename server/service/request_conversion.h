#ifndef MUSTER_SERVER_SERVICE_REQUEST_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_REQUEST_CONVERSION_H_

#include <utility>

#include "absl/status/statusor.h"
#include "common/rpcs.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/types.h"

// From the wire to the core. INVALID_ARGUMENT names the first field that has no meaning in itself:
// a message that is missing, an enum or oneof that is not set, a duration out of range. What
// depends on the daemon's options or state is the core's to judge. Of what may
// be large nothing is copied: it is moved out of the message.
namespace muster::service {

// There is one for each rpc: absl::StatusOr<core::JoinRequest> FromProto(v1::JoinRequest&&), and so
// on. Those of inquiries are in inquiry_conversion.cc.
#define MUSTER_FROM_PROTO(name, caller, request, ...) \
  absl::StatusOr<core::request> FromProto(v1::name##Request&& in);
MUSTER_RPCS(MUSTER_FROM_PROTO, MUSTER_FROM_PROTO)
#undef MUSTER_FROM_PROTO

// What the core has of a v1::JoinRequest: core::JoinRequest.
template <typename Request>
using CoreRequestOf = typename decltype(FromProto(std::declval<Request>()))::value_type;

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_REQUEST_CONVERSION_H_
