#include "client/src/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace muster::internal {
namespace {

bool IsLiteral(int family, const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(family, host.c_str(), bytes) == 1;
}

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("the coordinator's address '", text, "' ", why,
                                                 "; expected host:port or [ipv6]:port"));
}

}  // namespace

std::string Address::ToString() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

bool Address::is_ipv4() const { return IsLiteral(AF_INET, host); }
bool Address::is_ipv6() const { return IsLiteral(AF_INET6, host); }

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(text, "has no port");
  absl::string_view host = text.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  Address address{std::string(host), 0};
  if (host.empty()) return Malformed(text, "has no host");
  if (bracketed && !address.is_ipv6())
    return Malformed(text, "has no IPv6 address in its brackets");
  if (!bracketed && host.find_first_of(":[]/ \t") != absl::string_view::npos) {
    return Malformed(text, "has a malformed host");
  }
  if (!absl::SimpleAtoi(text.substr(colon + 1), &address.port) || address.port < 1 ||
      address.port > 65535) {
    return Malformed(text, "has no port between 1 and 65535");
  }
  return address;
}

std::string LocalAddressTowards(const std::string& peer) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(peer.c_str(), "9", &hints, &found) != 0) return "";
  char name[NI_MAXHOST] = "";
  const int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  // Connecting a datagram socket sends nothing; it makes the kernel choose the route.
  if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
    sockaddr_storage local;
    socklen_t size = sizeof(local);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) == 0) {
      getnameinfo(reinterpret_cast<sockaddr*>(&local), size, name, sizeof(name), nullptr, 0,
                  NI_NUMERICHOST);
    }
  }
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
  return name;
}

}  // namespace muster::internal
