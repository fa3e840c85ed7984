#include "client/src/control_plane/connect.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/control_plane/fork_guard.h"
#include "client/src/control_plane/grpc/grpc_store_transport.h"
#include "client/src/control_plane/grpc/grpc_threads.h"
#include "client/src/control_plane/grpc/grpc_transport.h"
#include "client/src/control_plane/grpc/resolve.h"
#include "client/src/control_plane/remote_control_plane.h"
#include "client/src/control_plane/serial_control_plane.h"
#include "common/credentials/caller_credentials.h"

namespace muster::internal {
namespace {

absl::Status RefuseSerial(const JobOptions& options) {
  if (options.world_size.value_or(1) == 1 && options.rank.value_or(0) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "job '", options.job, "': rank ", options.rank.value_or(0), " of ",
      options.world_size ? absl::StrCat(*options.world_size) : "?",
      " was asked for, but no coordinator is named, and without one each process would run alone; "
      "set JobOptions::coordinator (MUSTER_COORDINATOR)"));
}

absl::Status ResolvingError(const JobOptions& options, const HostPort& address,
                            const absl::Status& resolved) {
  const absl::Status error = Reworded(
      resolved, absl::StrCat("joining job '", options.job, "': resolving the coordinator's name '",
                             address.host, "' of ", options.coordinator, ": ", resolved.message(),
                             absl::IsDeadlineExceeded(resolved)
                                 ? absl::StrCat(" (gave up after ",
                                                absl::FormatDuration(options.timeout), ")")
                                 : ""));
  return absl::IsDeadlineExceeded(error) ? WithExitCode(error, kExitCoordinatorLost) : error;
}

absl::Status JoiningError(const JobOptions& options, const absl::Status& why) {
  return Reworded(why, absl::StrCat("joining job '", options.job, "' at ", options.coordinator,
                                    ": ", why.message()));
}

absl::StatusOr<std::shared_ptr<CallerCredentials>> LoadCredentials(const JobOptions& options) {
  absl::Status threads = CheckGrpcThreads();  // credentials of TLS begin gRPC
  if (!threads.ok()) return JoiningError(options, threads);
  auto credentials = CallerCredentials::Load({options.token_file, options.tls_ca, options.tls_cert,
                                              options.tls_key, options.tls_server_name});
  if (credentials.ok()) return credentials;
  return JoiningError(options, credentials.status());
}

absl::StatusOr<std::unique_ptr<ControlPlane>> JoinRemote(const JobOptions& options,
                                                         Cancellation* cancellation) {
  const Deadline deadline(options.timeout, cancellation);
  const absl::StatusOr<HostPort> address = ParseHostPort(options.coordinator);
  if (!address.ok()) return address.status();
  if (absl::Status forked = CheckNotForked(); !forked.ok()) {
    return Reworded(forked, absl::StrCat("joining job '", options.job, "': ", forked.message()));
  }
  absl::StatusOr<std::shared_ptr<CallerCredentials>> credentials = LoadCredentials(options);
  if (!credentials.ok()) return credentials.status();
  const absl::Status resolved = AwaitResolvable(*address, deadline);
  if (!resolved.ok()) return ResolvingError(options, *address, resolved);
  if (absl::Status threads = CheckGrpcThreads(); !threads.ok()) {
    return JoiningError(options, threads);
  }
  return RemoteControlPlane::Join(MakeGrpcTransport(*address, *credentials), options, deadline,
                                  [address = *address, credentials = *credentials] {
                                    return MakeGrpcStoreTransport(address, credentials);
                                  });
}

}  // namespace

absl::StatusOr<std::shared_ptr<ControlPlane>> Connect(const JobOptions& options,
                                                      Cancellation* cancellation) {
  if (!options.coordinator.empty()) return JoinRemote(options, cancellation);
  if (absl::Status status = RefuseSerial(options); !status.ok()) {
    return WithExitCode(status, kExitBadConfiguration);
  }
  return std::make_shared<SerialControlPlane>(options);
}

}  // namespace muster::internal
