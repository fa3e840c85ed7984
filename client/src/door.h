#ifndef MUSTER_CLIENT_SRC_DOOR_H_
#define MUSTER_CLIENT_SRC_DOOR_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/control_plane.h"

// What the public classes check before a call goes to the control plane.
namespace muster::internal {

// The options with their time-out filled in. INVALID_ARGUMENT: a time-out that is infinite or
// negative. FAILED_PRECONDITION: this process is a fork. CANCELLED: already cancelled.
absl::StatusOr<CallOptions> Admit(const ControlPlane& control, const CallOptions& options);

// RESOURCE_EXHAUSTED if `bytes` are over the daemon's limit, naming `what`, the limit and the flag.
absl::Status CheckPayload(const ControlPlane& control, absl::string_view what, size_t bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DOOR_H_
