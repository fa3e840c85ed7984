#ifndef MUSTER_SERVER_SERVICE_CONVERSION_STORE_REQUEST_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_CONVERSION_STORE_REQUEST_CONVERSION_H_

#include "absl/status/statusor.h"
#include "muster/v1/store.pb.h"
#include "server/core/api/store_messages.h"

namespace muster::service {

// Converts a message of a store stream to the core's. Returns INVALID_ARGUMENT with the name of the
// first field that is malformed by itself, or PERMISSION_DENIED if the secret belongs to another
// incarnation. The core judges all else. Values are moved out of the message, and never copied.
absl::StatusOr<core::StoreRequest> FromProto(v1::StoreRequest&& in);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CONVERSION_STORE_REQUEST_CONVERSION_H_
