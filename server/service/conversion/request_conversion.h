#ifndef MUSTER_SERVER_SERVICE_CONVERSION_REQUEST_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_CONVERSION_REQUEST_CONVERSION_H_

#include <utility>

#include "absl/status/statusor.h"
#include "common/rpc/rpcs.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/api/types.h"

// Converts requests of the wire to the core's. Returns INVALID_ARGUMENT with the name of the first
// field that is malformed by itself: a missing message, an enum or oneof that is not set, a
// duration out of range. The core judges everything that depends on the daemon's options or state.
// Large fields are moved out of the message, and never copied.
namespace muster::service {

// Declares one overload per rpc, such as absl::StatusOr<core::JoinRequest>
// FromProto(v1::JoinRequest&&). The overloads for inquiries are defined in inquiry_conversion.cc.
#define MUSTER_FROM_PROTO(name, caller, request, ...) \
  absl::StatusOr<core::request> FromProto(v1::name##Request&& in);
MUSTER_RPCS(MUSTER_FROM_PROTO, MUSTER_FROM_PROTO)
#undef MUSTER_FROM_PROTO

// The core's type of a request: core::JoinRequest for v1::JoinRequest.
template <typename Request>
using CoreRequestOf = typename decltype(FromProto(std::declval<Request>()))::value_type;

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CONVERSION_REQUEST_CONVERSION_H_
