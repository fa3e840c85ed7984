#include "client/src/base/local_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::internal {

std::string LocalAddressTowards(const std::string& peer) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(peer.c_str(), "9", &hints, &found) != 0) return "";
  char name[NI_MAXHOST] = "";
  const int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  // Connecting a datagram socket sends nothing, but makes the kernel choose the route.
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
