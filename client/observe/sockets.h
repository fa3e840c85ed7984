#ifndef MUSTER_CLIENT_OBSERVE_SOCKETS_H_
#define MUSTER_CLIENT_OBSERVE_SOCKETS_H_

#include <sys/types.h>

#include <string>

#include "absl/strings/string_view.h"

namespace muster::observe {

// "a TCP connection to 10.0.0.1:443", "a TCP port, 0.0.0.0:80, that it listens at", "a socket".
// `link` is what the descriptor's link says: "socket:[123]".
std::string DescribeSocket(pid_t pid, absl::string_view link);

// An address as /proc/net/tcp and tcp6 write it, "0100007F:1BB8", as "127.0.0.1:7096".
std::string ReadableAddress(absl::string_view address);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_SOCKETS_H_
