#ifndef MUSTER_SERVER_SERVICE_LISTEN_ADDRESS_H_
#define MUSTER_SERVER_SERVICE_LISTEN_ADDRESS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host_port.h"

namespace muster::service {

// INVALID_ARGUMENT says what was expected. Port 0: the system picks a free one.
absl::StatusOr<HostPort> ParseListenAddress(absl::string_view text);

// Whether only processes of this machine can reach the address. Of names, only localhost does.
bool IsLoopback(const HostPort& address);

// Why this process cannot listen on an address that it has just failed to listen on, and what to
// do: `flag` says where.
absl::Status ExplainListenFailure(const HostPort& address, absl::string_view flag = "--listen");

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_LISTEN_ADDRESS_H_
