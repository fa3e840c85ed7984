#include "server/daemon/port_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::daemon {
namespace {

absl::Status CannotWrite(absl::string_view flag, const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": cannot write ", path, ": ", strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PortFile>> PortFile::Write(absl::string_view flag,
                                                          const std::string& path, int port) {
  if (path.empty()) return nullptr;
  const std::string temporary = absl::StrCat(path, ".", getpid());
  std::ofstream file(temporary);
  file << port << "\n";
  file.close();
  if (!file) return CannotWrite(flag, path);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const absl::Status status = CannotWrite(flag, path);
    unlink(temporary.c_str());
    return status;
  }
  return std::unique_ptr<PortFile>(new PortFile(path));
}

PortFile::PortFile(std::string path) : path_(std::move(path)) {}

PortFile::~PortFile() { unlink(path_.c_str()); }

}  // namespace muster::daemon
