#include "common/process/local_coordinators.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster {
namespace {

constexpr char kEntryPrefix[] = "coordinator-";
constexpr char kTemporaryName[] = "new-XXXXXX";
constexpr size_t kMaxEntryBytes = 16 << 10;  // of an entry

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Returns whether only this user can add an entry. Matters because a status request sends the
// entry's coordinator a token.
bool IsSafeFolder(const std::string& folder) {
  struct stat status;
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string ReadAll(int fd) {
  std::string text(kMaxEntryBytes, '\0');
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  text.resize(std::max<ssize_t>(size, 0));
  return text;
}

std::optional<LocalCoordinator> Parse(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  int pid = 0;
  if (lines.size() != 5 || lines[0].empty() || lines[1].empty()) return std::nullopt;
  if (!absl::SimpleAtoi(lines[3], &pid)) return std::nullopt;
  return LocalCoordinator{lines[0], lines[1], lines[2], pid};
}

// Reads an entry. If it is not locked, its process is gone, and the entry is removed.
std::optional<LocalCoordinator> ReadEntry(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;
  std::optional<LocalCoordinator> entry;
  if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
    entry = Parse(ReadAll(fd));
  } else {
    unlink(path.c_str());
  }
  close(fd);
  return entry;
}

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> paths;
  DIR* const directory = opendir(folder.c_str());
  if (directory == nullptr) return paths;
  while (const dirent* entry = readdir(directory)) {
    if (absl::StartsWith(entry->d_name, kEntryPrefix)) {
      paths.push_back(absl::StrCat(folder, "/", entry->d_name));
    }
  }
  closedir(directory);
  return paths;
}

}  // namespace

std::string RuntimeDirectory() {
  if (std::string own = Variable("MUSTER_RUNTIME_DIR"); !own.empty()) return own;
  if (const std::string user = Variable("XDG_RUNTIME_DIR"); !user.empty()) return user + "/muster";
  const std::string user = absl::StrCat("/run/user/", geteuid());
  return IsFolder(user) ? user + "/muster" : absl::StrCat("/tmp/muster-", geteuid());
}

std::string MakeRuntimeDirectory() {
  std::string folder = RuntimeDirectory();
  mkdir(folder.c_str(), S_IRWXU);
  return IsSafeFolder(folder) ? folder : "";
}

std::unique_ptr<CoordinatorRegistration> CoordinatorRegistration::Add(
    const LocalCoordinator& coordinator) {
  const std::string folder = MakeRuntimeDirectory();
  if (folder.empty()) return nullptr;
  std::string path = absl::StrCat(folder, "/", kTemporaryName);
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return nullptr;
  const std::string text = absl::StrCat(coordinator.job, "\n", coordinator.address, "\n",
                                        coordinator.token_file, "\n", coordinator.pid, "\n");
  // Locks and completes the entry before it becomes visible.
  const std::string listed = absl::StrCat(folder, "/", kEntryPrefix, path.substr(path.size() - 6));
  const bool done = Parse(text) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                    write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                    rename(path.c_str(), listed.c_str()) == 0;
  if (done)
    return std::unique_ptr<CoordinatorRegistration>(new CoordinatorRegistration(fd, listed));
  unlink(path.c_str());
  close(fd);
  return nullptr;
}

CoordinatorRegistration::~CoordinatorRegistration() {
  unlink(path_.c_str());
  close(fd_);
}

std::vector<LocalCoordinator> FindLocalCoordinators() {
  std::vector<LocalCoordinator> found;
  const std::string folder = RuntimeDirectory();
  if (!IsSafeFolder(folder)) return found;
  for (const std::string& path : EntriesOf(folder)) {
    if (std::optional<LocalCoordinator> entry = ReadEntry(path)) found.push_back(*entry);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.job, a.address) < std::tie(b.job, b.address);
  });
  return found;
}

}  // namespace muster
