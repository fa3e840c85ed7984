// gRPC 1.51 stops listening for good when accept4() fails because the process has no file
// descriptor left: the daemon would be deaf even after others have been closed. Asio, which serves
// the pages, calls accept(). These two, which the linker puts in the place of libc's, keep one
// descriptor in reserve, and nobody gets a connection who would leave none: such a connection is
// taken and closed. The caller sees an end at once, tries again later, and neither gRPC nor Asio
// sees the error.
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
#include "server/daemon/connections.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

constexpr absl::Duration kBetweenWarnings = absl::Seconds(10);

int Accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  return static_cast<int>(syscall(SYS_accept4, listener, address, size, flags));
}

bool NoneLeft(int error) { return error == EMFILE || error == ENFILE; }

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
  // As accept4(). One connection at a time: else whoever takes the next one could take what was
  // freed for refusing this one. Never blocks.
  int Take(int listener, sockaddr* address, socklen_t* size, int flags) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!Pending(listener)) return Fail(EAGAIN);
    int connection = Accept(listener, address, size, flags);
    if (connection < 0) {
      if (!NoneLeft(errno)) return connection;
      Release();
      connection = Accept(listener, address, size, flags);
    }
    if (connection >= 0 && Reserve()) return connection;
    if (connection >= 0) {
      close(connection);
      Warn();
    }
    Reserve();
    // EINTR: gRPC asks again, until nobody waits any more. EAGAIN: another thread has opened
    // something meanwhile, and the next to connect wakes the listener again.
    return Fail(connection >= 0 ? EINTR : EAGAIN);
  }

 private:
  static int Open() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

  // Whether there is a reserve.
  bool Reserve() {
    if (reserve_ < 0) reserve_ = Open();
    return reserve_ >= 0;
  }

  void Release() {
    if (reserve_ >= 0) close(std::exchange(reserve_, -1));
  }

  void Warn() {
    const absl::Time now = absl::Now();
    if (now - warned_ < kBetweenWarnings) return;
    warned_ = now;
    spdlog::warn(
        "the daemon has no file descriptor left and refuses connections; see what connects to it, "
        "or raise its limit (ulimit -Hn)");
  }

  std::mutex mutex_;
  int reserve_ = Open();  // -1: none
  absl::Time warned_ = absl::InfinitePast();
};

// Made before anything is accepted.
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
