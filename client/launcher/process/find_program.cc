#include "client/launcher/process/find_program.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::launcher {
namespace {

absl::Status CheckExecutable(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    const std::string text = absl::StrCat(path, ": ", strerror(errno));
    return errno == EACCES ? absl::PermissionDeniedError(text) : absl::NotFoundError(text);
  }
  if (S_ISDIR(info.st_mode))
    return absl::PermissionDeniedError(absl::StrCat(path, ": is a directory"));
  if (access(path.c_str(), X_OK) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(path, ": ", strerror(errno)));
}

std::string Directory(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::vector<std::string> PlacesOfMusterd(const std::string& self) {
  std::vector<std::string> places = {
      absl::StrCat(Directory(self), "/musterd"),
      absl::StrCat(Directory(self), "/../../server/musterd"),
      absl::StrCat(self, ".runfiles/muster/server/musterd"),
  };
  for (const char* variable : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    const std::string root = GetEnv(variable);
    if (!root.empty()) places.push_back(absl::StrCat(root, "/muster/server/musterd"));
  }
  return places;
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const std::string& name, const std::string& search_path) {
  if (name.find('/') != std::string::npos) {
    const absl::Status status = CheckExecutable(name);
    if (!status.ok()) return status;
    return name;
  }
  absl::Status result = absl::NotFoundError(
      absl::StrCat(name, ": not found in PATH; give its path, or add its folder to PATH"));
  for (absl::string_view directory : absl::StrSplit(search_path, ':')) {
    const std::string path = absl::StrCat(directory.empty() ? "." : directory, "/", name);
    const absl::Status status = CheckExecutable(path);
    if (status.ok()) return path;
    if (absl::IsPermissionDenied(status)) result = status;
  }
  return result;
}

absl::StatusOr<std::string> FindMusterd(const std::string& given, const std::string& self,
                                        const std::string& search_path) {
  if (!given.empty()) {
    const absl::StatusOr<std::string> found = FindProgram(given, search_path);
    if (found.ok()) return found;
    return absl::Status(found.status().code(),
                        absl::StrCat("cannot start the coordinator ", found.status().message()));
  }
  const std::vector<std::string> places = PlacesOfMusterd(self);
  for (const std::string& place : places) {
    if (CheckExecutable(place).ok()) return place;
  }
  absl::StatusOr<std::string> found = FindProgram("musterd", search_path);
  if (found.ok()) return found;
  return absl::NotFoundError(
      absl::StrCat("cannot find musterd, the coordinator; looked for ", absl::StrJoin(places, ", "),
                   " and in PATH. Set MUSTER_MUSTERD or --musterd to its path, or join a running "
                   "coordinator with --coordinator"));
}

std::string SelfPath() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  return size < 0 ? "" : std::string(path, size);
}

std::string GetEnv(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace muster::launcher
