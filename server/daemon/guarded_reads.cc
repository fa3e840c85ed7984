// This recvmsg(), which the linker puts in the place of libc's, is how gRPC reads: it shows a
// HeaderGuard what comes from a peer, and ends the connections of those who send too much.
#include "server/daemon/guarded_reads.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/daemon/header_guard.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

constexpr absl::Duration kBetweenWarnings = absl::Seconds(10);

// The guards of all connections that were accepted. A descriptor's guard stays when the connection
// ends, until the next one has the descriptor; nothing else in this process reads with recvmsg().
class Guards {
 public:
  void Begin(int connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    guards_[connection] = std::make_unique<HeaderGuard>();
  }

  // Null if it was not accepted. Only who reads from the connection, one thread at a time, uses it.
  HeaderGuard* Find(int connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = guards_.find(connection);
    return it == guards_.end() ? nullptr : it->second.get();
  }

  void Warn() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const absl::Time now = absl::Now();
    if (now - warned_ < kBetweenWarnings) return;
    warned_ = now;
    spdlog::warn(
        "the daemon has closed a connection whose peer sent request headers of more than {} KiB; "
        "see what connects to it",
        HeaderGuard::kMostBytes >> 10);
  }

 private:
  std::mutex mutex_;
  absl::flat_hash_map<int, std::unique_ptr<HeaderGuard>> guards_;
  absl::Time warned_ = absl::InfinitePast();
};

// Never deleted: gRPC's threads may read until the process ends.
Guards& AllGuards() {
  static Guards* const guards = new Guards();
  return *guards;
}

bool Admit(HeaderGuard* guard, const msghdr& message, size_t size) {
  for (size_t i = 0; i < message.msg_iovlen && size > 0; ++i) {
    const size_t part = std::min(size, message.msg_iov[i].iov_len);
    if (!guard->Admit({static_cast<const char*>(message.msg_iov[i].iov_base), part})) return false;
    size -= part;
  }
  return true;
}

}  // namespace

void GuardReads(int connection) { AllGuards().Begin(connection); }

void WarnOfLongHeaders() { AllGuards().Warn(); }

}  // namespace muster::daemon

extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  using muster::daemon::AllGuards;
  const ssize_t size = syscall(SYS_recvmsg, fd, message, flags);
  if (size <= 0 || (flags & MSG_ERRQUEUE) != 0) return size;
  muster::daemon::HeaderGuard* const guard = AllGuards().Find(fd);
  if (guard == nullptr || muster::daemon::Admit(guard, *message, static_cast<size_t>(size))) {
    return size;
  }
  muster::daemon::WarnOfLongHeaders();
  errno = ECONNRESET;
  return -1;
}
