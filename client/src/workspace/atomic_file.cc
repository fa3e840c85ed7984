#include "client/src/workspace/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

// Some file systems refuse larger writes.
constexpr size_t kMaxWrite = size_t{1} << 30;

absl::Status SystemError(int error, absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " ", path));
}

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(errno, "write", path);
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

// A file that its destructor removes, unless it was published.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    if (fd_ >= 0) close(fd_);
    if (exists_) unlink(path_.c_str());
  }

  absl::Status Create() {
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) return SystemError(errno, "create", path_);
    exists_ = true;
    return absl::OkStatus();
  }

  absl::Status Write(absl::string_view bytes) { return WriteAll(fd_, bytes, path_); }

  // Network file systems report some write errors only here.
  absl::Status Close() {
    if (fsync(fd_) != 0) return SystemError(errno, "write", path_);
    if (close(std::exchange(fd_, -1)) != 0) return SystemError(errno, "write", path_);
    return absl::OkStatus();
  }

  absl::Status Publish(const std::string& name) {
    if (rename(path_.c_str(), name.c_str()) != 0) return SystemError(errno, "rename to", name);
    exists_ = false;
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  int fd_ = -1;
  bool exists_ = false;
};

}  // namespace

std::string TemporaryPrefix(const std::string& name) { return absl::StrCat(".", name, "."); }

absl::Status WriteAtomically(const std::string& directory, const std::string& name,
                             const std::vector<absl::string_view>& parts) {
  std::random_device random;
  TemporaryFile file(absl::StrCat(directory, "/", TemporaryPrefix(name), absl::Hex(random())));
  absl::Status status = file.Create();
  for (const absl::string_view part : parts) {
    if (status.ok()) status = file.Write(part);
  }
  if (status.ok()) status = file.Close();
  if (status.ok()) status = file.Publish(absl::StrCat(directory, "/", name));
  if (status.ok()) status = SyncDirectory(directory);
  return status;
}

absl::Status SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError(errno, "open", directory);
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  // Some file systems cannot sync a directory, and need not.
  if (error == 0 || error == EINVAL || error == ENOTSUP) return absl::OkStatus();
  return SystemError(error, "write", directory);
}

}  // namespace muster::internal
