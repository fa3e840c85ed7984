#ifndef MUSTER_COMMON_HOST_PORT_H_
#define MUSTER_COMMON_HOST_PORT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// Where a coordinator listens, as a user wrote it, taken apart.
struct HostPort {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without its brackets
  int port = 0;

  // "host:port", "[ipv6]:port".
  std::string ToString() const;
  bool is_ipv4() const;
  bool is_ipv6() const;
};

// Takes "host:port" or "[ipv6]:port" apart. INVALID_ARGUMENT says what is wrong and what was
// expected. `least_port` is 0 where a system may pick a free one.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text, int least_port = 1);

// What --metrics-listen holds: an address as above, or a port alone (":9100" or "9100") for this
// machine only. Port 0: a system picks a free one.
absl::StatusOr<HostPort> ParseMetricsAddress(absl::string_view text);

// Where a process of this machine reaches what listens at `address`, which may be all addresses.
HostPort AsSeenHere(HostPort address);

// The address of what gRPC calls a peer: [::1]:7370 of "ipv6:%5B::1%5D:7370". Nullopt for what is
// not TCP.
std::optional<HostPort> ParsePeer(absl::string_view uri);

// The host of what gRPC calls a peer: "::1" of "ipv6:%5B::1%5D:7370". Empty for what is not TCP.
std::string HostOfPeer(absl::string_view uri);

}  // namespace muster

#endif  // MUSTER_COMMON_HOST_PORT_H_
