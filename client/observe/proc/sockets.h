#ifndef MUSTER_CLIENT_OBSERVE_PROC_SOCKETS_H_
#define MUSTER_CLIENT_OBSERVE_PROC_SOCKETS_H_

#include <sys/types.h>

#include <string>

#include "absl/strings/string_view.h"

namespace muster::observe {

// Returns "a TCP connection to 10.0.0.1:443", "a TCP port, 0.0.0.0:80, that it listens at" or "a
// socket". `link` is the link of the descriptor: "socket:[123]".
std::string DescribeSocket(pid_t pid, absl::string_view link);

// Converts an address as in /proc/net/tcp and tcp6, such as "0100007F:1BB8", to "127.0.0.1:7096".
std::string ReadableAddress(absl::string_view address);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_PROC_SOCKETS_H_
