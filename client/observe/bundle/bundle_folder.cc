#include "client/observe/bundle/bundle_folder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/credentials/random_bytes.h"

namespace muster::observe {
namespace {

constexpr mode_t kOwnFolder = 0700;
constexpr mode_t kOwnFile = 0600;
constexpr size_t kFreshBytes = 8;

// Owns a file descriptor and closes it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status Failed(const std::string& path) {
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", strerror(errno)));
}

bool EscapesFolder(const std::string& name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  return std::any_of(parts.begin(), parts.end(),
                     [](absl::string_view part) { return part.empty() || part[0] == '.'; });
}

// Creates the folders above the last '/'.
absl::Status MakeFoldersAbove(const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (mkdir(folder.c_str(), kOwnFolder) != 0 && errno != EEXIST) return Failed(folder);
  }
  return absl::OkStatus();
}

bool IsOwnedByUser(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && info.st_uid == geteuid();
}

// Opens a folder, which is created if needed. An existing one must belong to this user and must not
// be a symbolic link: its name can be guessed, so another user may have created it first.
absl::StatusOr<int> OpenOwnFolder(int parent, const std::string& name, const std::string& path) {
  const bool made = mkdirat(parent, name.c_str(), kOwnFolder) == 0;
  if (!made && errno != EEXIST) return Failed(path);
  const int fd = openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno != ENOTDIR && errno != ELOOP) return Failed(path);
  if (fd >= 0 && (made || IsOwnedByUser(fd))) return fd;
  if (fd >= 0) close(fd);
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write into ", path,
                   ": it is there already, and is not a folder of this user's own (or is a link "
                   "to one); remove it, or name another folder"));
}

bool WriteAll(int fd, const std::string& content) {
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t size = write(fd, content.data() + written, content.size() - written);
    if (size <= 0) return false;
    written += size;
  }
  return true;
}

// Writes to a temporary name and renames it, so that no reader sees part of a file. If several
// launchers write the same file, the last one wins.
absl::Status WriteFile(int folder, const std::string& name, const std::string& content,
                       const std::string& path) {
  const std::string fresh = absl::StrCat(".", absl::BytesToHexString(RandomBytes(kFreshBytes)));
  const Descriptor file(
      openat(folder, fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnFile));
  if (file.get() < 0) return Failed(path);
  if (WriteAll(file.get(), content) && renameat(folder, fresh.c_str(), folder, name.c_str()) == 0) {
    return absl::OkStatus();
  }
  const absl::Status failed = Failed(path);
  unlinkat(folder, fresh.c_str(), 0);
  return failed;
}

// Writes a file below `folder`; `name` may contain folders.
absl::Status WriteBelow(int folder, const std::string& name, const std::string& content,
                        const std::string& path) {
  const size_t end = name.find('/');
  if (end == std::string::npos) return WriteFile(folder, name, content, absl::StrCat(path, name));
  const std::string inner_path = absl::StrCat(path, name.substr(0, end), "/");
  const absl::StatusOr<int> inner = OpenOwnFolder(folder, name.substr(0, end), inner_path);
  if (!inner.ok()) return inner.status();
  const Descriptor closed_at_the_end(*inner);
  return WriteBelow(*inner, name.substr(end + 1), content, inner_path);
}

}  // namespace

std::string BundleName(absl::Time began) {
  return absl::FormatTime("hang-%Y%m%d-%H%M%S", began, absl::UTCTimeZone());
}

std::string PathPart(const std::string& name) {
  std::string part = name.substr(0, 100);
  for (char& c : part) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.') c = '_';
  }
  if (part.empty() || part[0] == '.') part.insert(0, "_");
  return part;
}

absl::Status WriteFiles(const std::string& folder, const std::vector<File>& files) {
  const std::string path(absl::StripSuffix(folder, "/"));
  if (absl::Status made = MakeFoldersAbove(path); !made.ok()) return made;
  const absl::StatusOr<int> opened = OpenOwnFolder(AT_FDCWD, path, path);
  if (!opened.ok()) return opened.status();
  const Descriptor closed_at_the_end(*opened);
  for (const File& file : files) {
    if (EscapesFolder(file.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a launcher has sent a file with a name that leads elsewhere"));
    }
    const absl::Status written =
        WriteBelow(*opened, file.name, file.content, absl::StrCat(path, "/"));
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

}  // namespace muster::observe
