#ifndef MUSTER_CLIENT_GLOO_CONNECTIONS_NETWORK_INTERFACE_H_
#define MUSTER_CLIENT_GLOO_CONNECTIONS_NETWORK_INTERFACE_H_

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::internal {

// An address of this host at which peers can reach it.
struct NetworkAddress {
  std::string interface;              // "eth0"
  std::string text;                   // "192.0.2.7", "fe80::1%eth0"
  sockaddr_storage socket_address{};  // port 0
  socklen_t length = 0;

  bool is_loopback() const;
  bool is_ipv6() const { return socket_address.ss_family == AF_INET6; }
};

// Returns every address of every interface that is up.
absl::StatusOr<std::vector<NetworkAddress>> LocalNetworkAddresses();

// Returns the address among `addresses` that this process offers its peers: `wanted`
// (CommunicatorOptions::interface, an IP address or the name of an interface), else the address
// that MUSTER_INTERFACE names, else `default_address`. If an interface has several addresses,
// prefers IPv4, then global IPv6, then link-local IPv6. NOT_FOUND lists the addresses that exist.
absl::StatusOr<NetworkAddress> ChooseNetworkAddress(const std::vector<NetworkAddress>& addresses,
                                                    absl::string_view wanted,
                                                    absl::string_view default_address);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CONNECTIONS_NETWORK_INTERFACE_H_
