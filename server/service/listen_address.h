#ifndef MUSTER_SERVER_SERVICE_LISTEN_ADDRESS_H_
#define MUSTER_SERVER_SERVICE_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::service {

struct ListenAddress {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without brackets
  int port = 0;      // 0: the system picks a free one
};

// From HOST:PORT; an IPv6 address stands in brackets. INVALID_ARGUMENT says what was expected.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

// HOST:PORT, with brackets where they are needed.
std::string ToString(const ListenAddress& address);

// Whether only processes of this machine can reach the address. Of names, only localhost does.
bool IsLoopback(const ListenAddress& address);

// Why this process cannot listen on an address that it has just failed to listen on, and what to
// do.
absl::Status ExplainListenFailure(const ListenAddress& address);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_LISTEN_ADDRESS_H_
