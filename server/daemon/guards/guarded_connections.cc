// Replacements of libc's recvmsg(), sendmsg() and close(), with which gRPC reads, writes and closes
// its connections. The linker binds gRPC's calls to these functions. They show all bytes to the
// guard of the connection. If a peer sends too much, recvmsg() fails and gRPC closes the
// connection.
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "absl/functional/function_ref.h"
#include "server/daemon/guards/connections.h"

namespace muster::daemon {
namespace {

// Calls `follow` with each part of the first `size` bytes of a message, until it returns false.
// Returns false if it did.
bool ForEachPart(const msghdr& message, size_t size,
                 absl::FunctionRef<bool(absl::string_view)> follow) {
  for (size_t i = 0; i < message.msg_iovlen && size > 0; ++i) {
    const size_t part = std::min(size, message.msg_iov[i].iov_len);
    if (!follow({static_cast<const char*>(message.msg_iov[i].iov_base), part})) return false;
    size -= part;
  }
  return true;
}

bool Admits(const std::shared_ptr<Connection>& connection, absl::string_view bytes) {
  const PeerGuard::Result result = AllConnections().Received(connection, bytes);
  WarnOfPeer(*connection, result);
  return result == PeerGuard::Result::kOk;
}

}  // namespace
}  // namespace muster::daemon

using muster::daemon::AllConnections;
using muster::daemon::Connection;

extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t size = syscall(SYS_recvmsg, fd, message, flags);
  if (size <= 0 || (flags & MSG_ERRQUEUE) != 0) return size;
  const std::shared_ptr<Connection> connection = AllConnections().Find(fd);
  if (connection == nullptr) return size;
  const auto admits = [&](absl::string_view part) {
    return muster::daemon::Admits(connection, part);
  };
  if (muster::daemon::ForEachPart(*message, static_cast<size_t>(size), admits)) return size;
  errno = ECONNRESET;
  return -1;
}

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const ssize_t size = syscall(SYS_sendmsg, fd, message, flags);
  if (size <= 0 || !AllConnections().any_unadmitted()) return size;
  const std::shared_ptr<Connection> connection = AllConnections().Find(fd);
  if (connection == nullptr || connection->hello.encrypted()) return size;
  muster::daemon::ForEachPart(*message, static_cast<size_t>(size), [&](absl::string_view part) {
    connection->guard.Sent(part);
    return true;
  });
  return size;
}

extern "C" int close(int fd) {
  AllConnections().End(fd);
  return static_cast<int>(syscall(SYS_close, fd));
}
