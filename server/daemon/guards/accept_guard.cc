// Replacements of libc's accept() and accept4() that survive running out of file descriptors. gRPC
// 1.51 stops listening for good when accept4() fails for want of a descriptor; the daemon would
// stay deaf after others are closed. Asio, which serves the pages, calls accept(). The linker binds
// both to the functions below. They keep one descriptor in reserve:
//   The process has no descriptor left, and a peer connects.
//   The guard frees its reserve, accepts the connection, closes it, and opens the reserve again.
// The peer sees the end at once and tries again later. Neither gRPC nor Asio sees the error.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/daemon/guards/connections.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

constexpr absl::Duration kWarningInterval = absl::Seconds(10);

int Accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  return static_cast<int>(syscall(SYS_accept4, listener, address, size, flags));
}

bool IsOutOfDescriptors(int error) { return error == EMFILE || error == ENFILE; }

bool Pending(int listener) {
  pollfd waits = {listener, POLLIN, 0};
  return poll(&waits, 1, 0) != 0;
}

int Fail(int error) {
  errno = error;
  return -1;
}

class AcceptGuard {
 public:
  // Accepts a connection, as accept4() does, but never blocks. Takes one connection at a time,
  // because a second thread could otherwise take the descriptor that was freed to refuse the first.
  int Take(int listener, sockaddr* address, socklen_t* size, int flags) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!Pending(listener)) return Fail(EAGAIN);
    int connection = Accept(listener, address, size, flags);
    if (connection < 0) {
      if (!IsOutOfDescriptors(errno)) return connection;
      Release();
      connection = Accept(listener, address, size, flags);
    }
    if (connection >= 0 && Reserve()) return connection;
    if (connection >= 0) {
      close(connection);
      Warn();
    }
    Reserve();
    // EINTR: gRPC calls again, until no peer waits. EAGAIN: another thread has opened a file
    // meanwhile; the next peer that connects wakes the listener again.
    return Fail(connection >= 0 ? EINTR : EAGAIN);
  }

 private:
  static int Open() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

  // Opens the reserve if it is gone. Returns whether there is a reserve.
  bool Reserve() {
    if (reserve_ < 0) reserve_ = Open();
    return reserve_ >= 0;
  }

  void Release() {
    if (reserve_ >= 0) close(std::exchange(reserve_, -1));
  }

  void Warn() {
    const absl::Time now = absl::Now();
    if (now - warned_ < kWarningInterval) return;
    warned_ = now;
    spdlog::warn(
        "the daemon has no file descriptor left and refuses connections; see what connects to it, "
        "or raise its limit (ulimit -Hn)");
  }

  std::mutex mutex_;
  int reserve_ = Open();  // -1: there is none
  absl::Time warned_ = absl::InfinitePast();
};

// Constructed before anything is accepted.
AcceptGuard guard;

}  // namespace
}  // namespace muster::daemon

extern "C" int accept4(int listener, sockaddr* address, socklen_t* size, int flags) {
  const int connection = muster::daemon::guard.Take(listener, address, size, flags);
  if (connection >= 0) muster::daemon::AllConnections().Begin(connection);
  return connection;
}

extern "C" int accept(int listener, sockaddr* address, socklen_t* size) {
  return muster::daemon::guard.Take(listener, address, size, 0);
}
