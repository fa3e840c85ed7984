#include "tests/nccl/fake/nccl/bootstrap/socket.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "tests/nccl/cuda/fake_cuda.h"

namespace fake_nccl {
namespace {

constexpr int kPollMilliseconds = 10;
constexpr int kBacklog = 1024;

std::atomic<int64_t> live{0};

int NewSocket() {
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) fake_cuda::Violation("no socket: errno %d", errno);
  const int on = 1;
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return file;
}

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Socket::Socket(int file) : file_(file) { ++live; }

Socket::~Socket() {
  if (!open()) return;
  close(file_);
  --live;
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Socket Socket::Listen(sockaddr_in* address) {
  Socket socket(NewSocket());
  *address = {};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof *address;
  auto* const generic = reinterpret_cast<sockaddr*>(address);
  if (bind(socket.file_, generic, size) != 0 || listen(socket.file_, kBacklog) != 0 ||
      getsockname(socket.file_, generic, &size) != 0) {
    fake_cuda::Violation("cannot listen: errno %d", errno);
  }
  return socket;
}

Socket Socket::Connect(const sockaddr_in& address) {
  Socket socket(NewSocket());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  return connect(socket.file_, generic, sizeof address) == 0 ? std::move(socket) : Socket();
}

Socket Socket::Accept(const AbortFlag& abort) {
  if (!AwaitReady(POLLIN, abort)) return Socket();
  const int file = accept4(file_, nullptr, nullptr, SOCK_CLOEXEC);
  return file < 0 ? Socket() : Socket(file);
}

bool Socket::AwaitReady(short events, const AbortFlag& abort) const {
  pollfd waiting = {file_, events, 0};
  while (!abort) {
    if (poll(&waiting, 1, kPollMilliseconds) > 0) return true;
  }
  return false;
}

bool Socket::Send(const void* data, size_t size, const AbortFlag& abort) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(file_, next, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && !WouldBlock()) return false;
    if (sent < 0 && !AwaitReady(POLLOUT, abort)) return false;
    if (sent > 0) next += sent, size -= static_cast<size_t>(sent);
  }
  return true;
}

bool Socket::Receive(void* data, size_t size, const AbortFlag& abort) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = recv(file_, next, size, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && !WouldBlock())) return false;
    if (got < 0 && !AwaitReady(POLLIN, abort)) return false;
    if (got > 0) next += got, size -= static_cast<size_t>(got);
  }
  return true;
}

void Socket::Shutdown() {
  if (open()) shutdown(file_, SHUT_RDWR);
}

int64_t LiveSockets() { return live; }

}  // namespace fake_nccl
