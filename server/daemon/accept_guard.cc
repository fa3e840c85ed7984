// gRPC 1.51 stops listening for good when accept4() fails because the process has no file
// descriptor left: the daemon would be deaf even after others have been closed. CivetWeb, which
// calls accept(), asks again and again, without a pause. These two, which the linker puts in the
// place of libc's, keep one descriptor in reserve. When all others are taken they close it, take
// the connection with it and close that: the caller sees an end at once, tries again later, and
// gRPC never sees the error.
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/daemon/guarded_reads.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

constexpr absl::Duration kBetweenWarnings = absl::Seconds(10);

int Accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  return static_cast<int>(syscall(SYS_accept4, listener, address, size, flags));
}

bool NoneLeft(int error) { return error == EMFILE || error == ENFILE; }

class Reserve {
 public:
  // False if nobody waits for a connection, which accept4() does not tell where no descriptor is
  // left; or if another thread was quicker to take what was closed. Then the next to connect wakes
  // the listener again.
  bool Refuse(int listener) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (fd_ >= 0) close(fd_);
    const int connection = Accept(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) {
      close(connection);
      Warn();
    }
    fd_ = Open();
    return connection >= 0;
  }

  // Another thread may have opened something while Refuse() had closed the reserve: then nothing is
  // in reserve until a descriptor is free again.
  void Restore() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (fd_ < 0) fd_ = Open();
  }

 private:
  static int Open() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

  void Warn() {
    const absl::Time now = absl::Now();
    if (now - warned_ < kBetweenWarnings) return;
    warned_ = now;
    spdlog::warn(
        "the daemon has no file descriptor left and refuses connections; see what connects to it, "
        "or raise its limit (ulimit -Hn)");
  }

  std::mutex mutex_;
  int fd_ = Open();
  absl::Time warned_ = absl::InfinitePast();
};

// Opened before anything is accepted.
Reserve reserve;

int AcceptOrRefuse(int listener, sockaddr* address, socklen_t* size, int flags) {
  const int connection = Accept(listener, address, size, flags);
  if (connection >= 0) reserve.Restore();
  if (connection >= 0 || !NoneLeft(errno)) return connection;
  // EINTR: gRPC asks again, until nobody waits any more.
  errno = reserve.Refuse(listener) ? EINTR : EAGAIN;
  return -1;
}

}  // namespace
}  // namespace muster::daemon

extern "C" int accept4(int listener, sockaddr* address, socklen_t* size, int flags) {
  const int connection = muster::daemon::AcceptOrRefuse(listener, address, size, flags);
  if (connection >= 0) muster::daemon::GuardReads(connection);
  return connection;
}

extern "C" int accept(int listener, sockaddr* address, socklen_t* size) {
  return muster::daemon::AcceptOrRefuse(listener, address, size, 0);
}
