#ifndef MUSTER_CLIENT_LAUNCHER_HOST_PORT_H_
#define MUSTER_CLIENT_LAUNCHER_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::launcher {

// Where a coordinator listens.
struct HostPort {
  std::string host;  // an IPv6 address without its brackets
  int port = 0;

  // "host:port", "[ipv6]:port".
  std::string ToString() const;
};

// Parses "host:port" or "[ipv6]:port". INVALID_ARGUMENT says what is wrong and what was expected.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_HOST_PORT_H_
