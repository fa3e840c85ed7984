#include "server/service/base/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::service {
namespace {

bool IsIpv4Loopback(const in_addr& address) { return (ntohl(address.s_addr) >> 24) == 127; }

bool IsIpv6Loopback(const in6_addr& address) {
  if (IN6_IS_ADDR_LOOPBACK(&address)) return true;
  return IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127;
}

// Tries to bind once more, to learn the errno. Returns 0 if it succeeds.
int TryBind(const addrinfo& info) {
  const int fd = socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC, info.ai_protocol);
  if (fd < 0) return errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const int error = bind(fd, info.ai_addr, info.ai_addrlen) == 0 ? 0 : errno;
  close(fd);
  return error;
}

absl::Status ExplainErrno(const HostPort& address, absl::string_view flag, int error) {
  const std::string where = absl::StrCat("cannot listen on ", address.ToString(), ": ");
  switch (error) {
    case EADDRINUSE:
      return absl::UnavailableError(absl::StrCat(
          where,
          "another process uses this port, or another flag of this one does. Stop that "
          "process, or choose another port with ",
          flag, " (port 0 picks a free one)"));
    case EADDRNOTAVAIL:
      return absl::InvalidArgumentError(
          absl::StrCat(where,
                       "no interface of this machine has this address. Choose one that `ip "
                       "address` shows, with ",
                       flag));
    case EACCES:
      return absl::PermissionDeniedError(absl::StrCat(
          where, "this user may not use this port. Choose one above 1023, with ", flag));
    default:
      return absl::UnavailableError(
          absl::StrCat(where, error == 0 ? "the attempt failed; try again" : strerror(error)));
  }
}

}  // namespace

absl::StatusOr<HostPort> ParseListenAddress(absl::string_view text) {
  absl::StatusOr<HostPort> address = ParseHostPort(text, /*min_port=*/0);
  if (address.ok()) return address;
  return absl::InvalidArgumentError(
      absl::StrCat("listen address: ", address.status().message(),
                   ", such as 127.0.0.1:7370, [::1]:7370 or 0.0.0.0:0"));
}

bool IsLoopback(const HostPort& address) {
  in_addr v4;
  in6_addr v6;
  if (inet_pton(AF_INET, address.host.c_str(), &v4) == 1) return IsIpv4Loopback(v4);
  if (inet_pton(AF_INET6, address.host.c_str(), &v6) == 1) return IsIpv6Loopback(v6);
  return absl::EqualsIgnoreCase(address.host, "localhost");
}

absl::Status ExplainListenFailure(const HostPort& address, absl::string_view flag) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code =
      getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (code != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on ", address.ToString(), ": the host name does not resolve (",
                     gai_strerror(code), "). Give an address of this machine with ", flag));
  }
  const int error = TryBind(*found);
  freeaddrinfo(found);
  return ExplainErrno(address, flag, error);
}

}  // namespace muster::service
