#include "client/gloo/connections/network_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace muster::internal {
namespace {

const sockaddr_in& V4(const NetworkAddress& address) {
  return reinterpret_cast<const sockaddr_in&>(address.socket_address);
}
const sockaddr_in6& V6(const NetworkAddress& address) {
  return reinterpret_cast<const sockaddr_in6&>(address.socket_address);
}

bool IsLinkLocal(const NetworkAddress& address) {
  return address.is_ipv6() && IN6_IS_ADDR_LINKLOCAL(&V6(address).sin6_addr);
}

std::string TextOf(const NetworkAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.is_ipv6()) {
    inet_ntop(AF_INET6, &V6(address).sin6_addr, text, sizeof(text));
    return IsLinkLocal(address) ? absl::StrCat(text, "%", address.interface) : text;
  }
  inet_ntop(AF_INET, &V4(address).sin_addr, text, sizeof(text));
  return text;
}

// Converts an IP address of an interface that is up. Returns false for every other entry.
bool Convert(const ifaddrs& entry, NetworkAddress* address) {
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_UP) == 0) return false;
  const int family = entry.ifa_addr->sa_family;
  if (family != AF_INET && family != AF_INET6) return false;
  address->interface = entry.ifa_name;
  address->length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&address->socket_address, entry.ifa_addr, address->length);
  address->text = TextOf(*address);
  return true;
}

std::string ListOf(const std::vector<NetworkAddress>& addresses) {
  return absl::StrJoin(addresses, ", ", [](std::string* out, const NetworkAddress& address) {
    absl::StrAppend(out, address.interface, " ", address.text);
  });
}

// Returns how well an address suits as the address of its interface; lower is better.
int Preference(const NetworkAddress& address) {
  if (!address.is_ipv6()) return 0;
  return IsLinkLocal(address) ? 2 : 1;
}

const NetworkAddress* FindInterface(const std::vector<NetworkAddress>& addresses,
                                    absl::string_view name) {
  const NetworkAddress* best = nullptr;
  for (const NetworkAddress& address : addresses) {
    if (address.interface != name) continue;
    if (best == nullptr || Preference(address) < Preference(*best)) best = &address;
  }
  return best;
}

// Returns the canonical spelling of an IP address, and any other text unchanged. Sockets that serve
// both IPv4 and IPv6 show an IPv4 address as "::ffff:192.0.2.7".
std::string Canonical(absl::string_view text) {
  const std::string plain(absl::StripPrefix(text, "::ffff:"));
  char spelled[INET6_ADDRSTRLEN];
  in6_addr v6;
  if (inet_pton(AF_INET6, plain.c_str(), &v6) == 1) {
    return inet_ntop(AF_INET6, &v6, spelled, sizeof(spelled));
  }
  in_addr v4;
  return inet_pton(AF_INET, plain.c_str(), &v4) == 1 ? plain : std::string(text);
}

const NetworkAddress* FindAddress(const std::vector<NetworkAddress>& addresses,
                                  absl::string_view wanted) {
  const std::string canonical = Canonical(wanted);
  for (const NetworkAddress& address : addresses) {
    if (address.text == canonical) return &address;
    // Matches a link-local address without its interface.
    if (absl::StartsWith(address.text, absl::StrCat(canonical, "%"))) return &address;
  }
  return nullptr;
}

absl::StatusOr<NetworkAddress> Find(const std::vector<NetworkAddress>& addresses,
                                    absl::string_view wanted, absl::string_view setting) {
  const NetworkAddress* found = FindInterface(addresses, wanted);
  if (found == nullptr) found = FindAddress(addresses, wanted);
  if (found != nullptr) return *found;
  return absl::NotFoundError(
      absl::StrCat(setting, " is '", wanted,
                   "', which is neither a network interface of this host that is up nor an IP "
                   "address of one; there are: ",
                   ListOf(addresses)));
}

}  // namespace

bool NetworkAddress::is_loopback() const {
  if (is_ipv6()) return IN6_IS_ADDR_LOOPBACK(&V6(*this).sin6_addr);
  return (ntohl(V4(*this).sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
}

absl::StatusOr<std::vector<NetworkAddress>> LocalNetworkAddresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot list this host's network interfaces: ", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<NetworkAddress> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    NetworkAddress address;
    if (Convert(*entry, &address)) addresses.push_back(address);
  }
  return addresses;
}

absl::StatusOr<NetworkAddress> ChooseNetworkAddress(const std::vector<NetworkAddress>& addresses,
                                                    absl::string_view wanted,
                                                    absl::string_view default_address) {
  if (!wanted.empty()) return Find(addresses, wanted, "CommunicatorOptions::interface");
  const char* variable = std::getenv("MUSTER_INTERFACE");
  if (variable != nullptr && *variable != '\0')
    return Find(addresses, variable, "MUSTER_INTERFACE");
  return Find(addresses, default_address,
              "the address from which this process reaches the "
              "coordinator");
}

}  // namespace muster::internal
