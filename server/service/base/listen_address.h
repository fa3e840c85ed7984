#ifndef MUSTER_SERVER_SERVICE_BASE_LISTEN_ADDRESS_H_
#define MUSTER_SERVER_SERVICE_BASE_LISTEN_ADDRESS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/names/host_port.h"

namespace muster::service {

// Parses HOST:PORT. Port 0 lets the system pick a free port. INVALID_ARGUMENT says what was
// expected.
absl::StatusOr<HostPort> ParseListenAddress(absl::string_view text);

// Returns whether only processes on this machine can reach the address. Among host names this is
// true of localhost only.
bool IsLoopback(const HostPort& address);

// Returns an error that says why this process could not listen on the address, and what to do. Call
// it right after the failure. `flag` is the flag that the address came from.
absl::Status ExplainListenFailure(const HostPort& address, absl::string_view flag = "--listen");

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_BASE_LISTEN_ADDRESS_H_
