#include "client/src/remote_join.h"

#include "absl/strings/str_cat.h"
#include "client/src/address.h"
#include "client/src/grpc_transport.h"
#include "client/src/remote_control_plane.h"
#include "client/src/resolve.h"

namespace muster::internal {

absl::StatusOr<std::unique_ptr<ControlPlane>> JoinRemote(const JobOptions& options,
                                                         Cancellation* cancellation) {
  const SteadyTime deadline = After(SteadyClock::now(), options.timeout);
  const absl::StatusOr<Address> address = ParseAddress(options.coordinator);
  if (!address.ok()) return address.status();
  const absl::Status resolved = AwaitResolvable(*address, deadline, cancellation);
  if (!resolved.ok()) {
    return absl::Status(
        resolved.code(),
        absl::StrCat(
            "joining job '", options.job, "': resolving the coordinator's name '", address->host,
            "' of ", options.coordinator, ": ", resolved.message(),
            absl::IsDeadlineExceeded(resolved)
                ? absl::StrCat(" (gave up after ", absl::FormatDuration(options.timeout), ")")
                : ""));
  }
  return RemoteControlPlane::Join(MakeGrpcTransport(*address), options, deadline, cancellation);
}

}  // namespace muster::internal
