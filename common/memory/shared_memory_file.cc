#include "common/memory/shared_memory_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

// Returns the system's last error.
absl::Status Cannot(absl::string_view verb, absl::string_view what) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", verb, " ", what));
}

// Checks the process's limit of file sizes. Exceeding it would end the process (SIGXFSZ).
absl::Status CheckLimit(size_t size) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      size <= limit.rlim_cur) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the processes' limit of file sizes (ulimit -f) is below ", size, " bytes"));
}

}  // namespace

absl::StatusOr<SharedMemoryFile> SharedMemoryFile::Make(const std::string& path, size_t size,
                                                        size_t reserved,
                                                        absl::string_view content) {
  absl::StatusOr<SharedMemoryFile> file = MakeUnnamed(path.substr(0, path.rfind('/')), size);
  if (!file.ok()) return file;
  file->title_ = absl::StrCat("shared memory at ", path);
  flock(file->descriptor_, LOCK_SH | LOCK_NB);
  if (absl::Status s = file->Reserve(0, reserved); !s.ok()) return s;
  if (absl::Status s = file->Write(content); !s.ok()) return s;
  if (absl::Status s = file->Link(path); !s.ok()) return s;
  return file;
}

absl::StatusOr<SharedMemoryFile> SharedMemoryFile::Open(const std::string& path, size_t size) {
  const std::string title = absl::StrCat("shared memory at ", path);
  const int descriptor = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return Cannot("open", title);
  SharedMemoryFile file(descriptor, path, title);
  flock(descriptor, LOCK_SH | LOCK_NB);
  if (absl::Status s = file.Check(size); !s.ok()) return s;
  return file;
}

absl::StatusOr<SharedMemoryFile> SharedMemoryFile::MakeUnnamed(const std::string& folder,
                                                               size_t size) {
  if (absl::Status s = CheckLimit(size); !s.ok()) return s;
  const std::string title = absl::StrCat("shared memory in ", folder);
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) return Cannot("make", absl::StrCat(title, ", which should be a tmpfs"));
  SharedMemoryFile file(descriptor, "", title);
  if (absl::Status s = file.Resize(size); !s.ok()) return s;
  return file;
}

absl::StatusOr<SharedMemoryFile> SharedMemoryFile::MakeSealed(const std::string& name,
                                                              size_t size) {
  if (absl::Status s = CheckLimit(size); !s.ok()) return s;
  const std::string title = absl::StrCat("shared memory ", name);
  const int descriptor = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return Cannot("make", title);
  SharedMemoryFile file(descriptor, "", title);
  if (absl::Status s = file.Resize(size); !s.ok()) return s;
  if (absl::Status s = file.Seal(); !s.ok()) return s;
  return file;
}

SharedMemoryFile::~SharedMemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status SharedMemoryFile::Reserve(size_t offset, size_t bytes) const {
  int error;
  do {
    error = posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  errno = error;
  return error == 0 ? absl::OkStatus() : Cannot("reserve", title_);
}

absl::StatusOr<MappedMemory> SharedMemoryFile::Map(size_t size, int flags) const {
  return MappedMemory::Map(descriptor_, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags,
                           absl::StrCat("cannot map ", title_));
}

void SharedMemoryFile::Unlink() const {
  if (!path_.empty()) unlink(path_.c_str());
}

// An exclusive lock succeeds only if no process has the file open.
void SharedMemoryFile::RemoveAbandoned(const std::string& folder,
                                       absl::FunctionRef<bool(absl::string_view name)> is_ours) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path();
    if (!is_ours(path.substr(path.rfind('/') + 1))) continue;
    const int descriptor = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat info;
    const bool own =
        fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid();
    if (own && flock(descriptor, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
    close(descriptor);
  }
}

absl::Status SharedMemoryFile::Resize(size_t size) const {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) == 0) return absl::OkStatus();
  return Cannot("size", title_);
}

absl::Status SharedMemoryFile::Write(absl::string_view content) const {
  const ssize_t written = pwrite(descriptor_, content.data(), content.size(), 0);
  if (written == static_cast<ssize_t>(content.size())) return absl::OkStatus();
  return Cannot("write", title_);
}

absl::Status SharedMemoryFile::Seal() const {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (fcntl(descriptor_, F_ADD_SEALS, kSeals) == 0) return absl::OkStatus();
  return Cannot("seal", title_);
}

absl::Status SharedMemoryFile::Link(const std::string& path) {
  const std::string self = absl::StrCat("/proc/self/fd/", descriptor_);
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return Cannot("name", title_);
  }
  path_ = path;
  return absl::OkStatus();
}

absl::Status SharedMemoryFile::Check(size_t size) const {
  const auto refuse = [this](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat("the ", title_, " ", why));
  };
  struct stat info;
  if (fstat(descriptor_, &info) != 0) return Cannot("inspect", title_);
  if (!S_ISREG(info.st_mode)) return refuse("is not a file");
  if (info.st_uid != geteuid()) return refuse("belongs to another user");
  if ((info.st_mode & 077) != 0) return refuse("is open to other users");
  if (static_cast<size_t>(info.st_size) == size) return absl::OkStatus();
  return refuse(absl::StrCat("has ", info.st_size, " bytes; expected ", size));
}

}  // namespace muster
