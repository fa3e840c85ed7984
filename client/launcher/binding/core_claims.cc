#include "client/launcher/binding/core_claims.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster::launcher {
namespace {

constexpr off_t kChoosing = off_t{1} << 30;  // a byte that no CPU has

struct flock LockOf(short type, off_t byte) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

std::unique_ptr<CoreClaims> CoreClaims::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (fd < 0) return nullptr;
  std::unique_ptr<CoreClaims> claims(new CoreClaims(fd));
  struct flock lock = LockOf(F_WRLCK, kChoosing);
  int locked;
  do {
    locked = fcntl(fd, F_OFD_SETLKW, &lock);
  } while (locked != 0 && errno == EINTR);
  return locked == 0 ? std::move(claims) : nullptr;
}

CoreClaims::~CoreClaims() { close(fd_); }

bool CoreClaims::IsFree(const Core& core) const {
  return std::all_of(core.cpus.begin(), core.cpus.end(), [this](int cpu) {
    struct flock lock = LockOf(F_WRLCK, cpu);
    return fcntl(fd_, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK;
  });
}

void CoreClaims::Claim(const Cpus& cpus) {
  for (const int cpu : cpus) {
    struct flock lock = LockOf(F_WRLCK, cpu);
    fcntl(fd_, F_OFD_SETLK, &lock);
  }
}

void CoreClaims::DoneChoosing() {
  struct flock lock = LockOf(F_UNLCK, kChoosing);
  fcntl(fd_, F_OFD_SETLK, &lock);
}

}  // namespace muster::launcher
