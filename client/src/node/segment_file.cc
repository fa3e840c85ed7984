#include "client/src/node/segment_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

absl::Status Errno(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " shared memory at ", path));
}

absl::Status NotOurs(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("the shared memory at ", path, " ", why));
}

// A file beyond the limit would end the process (SIGXFSZ).
bool MayBeSoLarge(size_t size) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         size <= limit.rlim_cur;
}

absl::Status Fill(int descriptor, const std::string& path, size_t size, size_t reserved,
                  absl::string_view content) {
  if (ftruncate(descriptor, static_cast<off_t>(size)) != 0) return Errno("size", path);
  absl::Status status = ReserveSegmentFile(descriptor, path, 0, reserved);
  if (status.ok() && pwrite(descriptor, content.data(), content.size(), 0) !=
                         static_cast<ssize_t>(content.size())) {
    status = Errno("write", path);
  }
  return status;
}

absl::Status Name(int descriptor, const std::string& path) {
  const std::string self = absl::StrCat("/proc/self/fd/", descriptor);
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return absl::OkStatus();
  }
  return Errno("name", path);
}

absl::Status CheckFile(int descriptor, const std::string& path, size_t size) {
  struct stat info;
  if (fstat(descriptor, &info) != 0) return Errno("inspect", path);
  if (!S_ISREG(info.st_mode)) return NotOurs(path, "is no file");
  if (info.st_uid != geteuid()) return NotOurs(path, "belongs to another user");
  if ((info.st_mode & 077) != 0) return NotOurs(path, "is open to other users");
  if (static_cast<size_t>(info.st_size) == size) return absl::OkStatus();
  return NotOurs(path, absl::StrCat("has ", info.st_size, " bytes; expected ", size));
}

}  // namespace

absl::StatusOr<int> MakeSegmentFile(const std::string& path, size_t size, size_t reserved,
                                    absl::string_view content) {
  if (!MayBeSoLarge(size)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the processes' limit of file sizes (ulimit -f) is below ", size, " bytes"));
  }
  const std::string folder = path.substr(0, path.rfind('/'));
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) return Errno("make", folder);
  auto closer = absl::MakeCleanup([descriptor] { close(descriptor); });
  flock(descriptor, LOCK_SH | LOCK_NB);
  absl::Status status = Fill(descriptor, path, size, reserved, content);
  if (status.ok()) status = Name(descriptor, path);
  if (!status.ok()) return status;
  std::move(closer).Cancel();
  return descriptor;
}

absl::StatusOr<int> OpenSegmentFile(const std::string& path, size_t size) {
  const int descriptor = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return Errno("open", path);
  flock(descriptor, LOCK_SH | LOCK_NB);
  const absl::Status status = CheckFile(descriptor, path, size);
  if (status.ok()) return descriptor;
  close(descriptor);
  return status;
}

absl::Status ReserveSegmentFile(int descriptor, const std::string& path, size_t offset,
                                size_t bytes) {
  int error;
  do {
    error = posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  errno = error;
  return error == 0 ? absl::OkStatus() : Errno("reserve", path);
}

// Where nobody has a file open its exclusive lock can be had.
void RemoveAbandonedSegmentFiles(const std::string& folder,
                                 absl::FunctionRef<bool(absl::string_view name)> is_one_of_ours) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path();
    if (!is_one_of_ours(path.substr(path.rfind('/') + 1))) continue;
    const int descriptor = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat info;
    const bool own =
        fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid();
    if (own && flock(descriptor, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
    close(descriptor);
  }
}

absl::StatusOr<void*> MapSegmentFile(int descriptor, const std::string& path, size_t size,
                                     int flags) {
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, descriptor, 0);
  if (memory == MAP_FAILED) return Errno("map", path);
  return memory;
}

}  // namespace muster::internal
