#ifndef MUSTER_COMMON_NAMES_HOST_PORT_H_
#define MUSTER_COMMON_NAMES_HOST_PORT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// An address at which a coordinator listens, parsed.
struct HostPort {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without its brackets
  int port = 0;

  // Returns "host:port" or "[ipv6]:port".
  std::string ToString() const;
  bool is_ipv4() const;
  bool is_ipv6() const;
};

// Parses "host:port" or "[ipv6]:port". INVALID_ARGUMENT says what is wrong and what was expected.
// Pass `min_port` 0 if the system may choose a free port.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text, int min_port = 1);

// Parses the value of --metrics-listen: an address as above, or a port alone (":9100" or "9100")
// for this machine only. With port 0, the system chooses a free one.
absl::StatusOr<HostPort> ParseMetricsAddress(absl::string_view text);

// Returns the address at which a process of this machine reaches a listener at `address`: a
// loopback address if `address` means all addresses.
HostPort LoopbackIfWildcard(HostPort address);

// Returns the address in gRPC's name of a peer: [::1]:7370 for "ipv6:%5B::1%5D:7370". Nullopt if
// the peer is not connected by TCP.
std::optional<HostPort> ParsePeer(absl::string_view uri);

// Returns the host in gRPC's name of a peer: "::1" for "ipv6:%5B::1%5D:7370". Empty if the peer is
// not connected by TCP.
std::string ParsePeerHost(absl::string_view uri);

}  // namespace muster

#endif  // MUSTER_COMMON_NAMES_HOST_PORT_H_
