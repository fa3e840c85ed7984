#include "muster/workspace.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/src/workspace/atomic_file.h"
#include "client/src/workspace/file_bytes.h"
#include "client/src/workspace/safetensors_reader.h"
#include "client/src/workspace/safetensors_writer.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using LoadedFile = absl::StatusOr<std::shared_ptr<const internal::FileBytes>>;

std::string FileName(int rank) { return absl::StrCat("rank-", rank, ".safetensors"); }

absl::Status SystemError(const std::error_code& error, absl::string_view what,
                         const std::string& path) {
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot ", what, " ", path));
}

absl::StatusOr<std::optional<Configuration>> Parse(const LoadedFile& file,
                                                   const std::string& path) {
  if (absl::IsNotFound(file.status())) return std::nullopt;
  if (!file.ok()) return file.status();
  absl::StatusOr<Configuration> configuration = internal::ReadSafetensors((*file)->bytes());
  if (!configuration.ok()) {
    return absl::Status(configuration.status().code(),
                        absl::StrCat(path, " is damaged: ", configuration.status().message()));
  }
  configuration->storage = *file;
  return *std::move(configuration);
}

}  // namespace

absl::StatusOr<Workspace> Workspace::Open(const std::string& path, int rank) {
  if (path.empty()) return absl::InvalidArgumentError("the workspace's path is empty");
  if (rank < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("workspace ", path, ": rank is ", rank, "; expected at least 0"));
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return SystemError(error, "create workspace", path);
  Workspace workspace(path, rank);
  absl::Status status = workspace.RemoveStale();
  if (!status.ok()) return status;
  return workspace;
}

absl::StatusOr<Workspace> Workspace::OpenForReading(const std::string& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  if (error) return SystemError(error, "open workspace", path);
  if (is_folder) return Workspace(path);
  return absl::NotFoundError(absl::StrCat("cannot open workspace ", path, ": it is not a folder"));
}

std::string Workspace::FileOf(int rank) const { return absl::StrCat(path_, "/", FileName(rank)); }

absl::Status Workspace::CheckInitialized() const {
  if (is_initialized()) return absl::OkStatus();
  return absl::FailedPreconditionError("the workspace is not initialized; see Workspace::Open()");
}

absl::Status Workspace::CheckWriter() const {
  if (absl::Status status = CheckInitialized(); !status.ok()) return status;
  if (rank_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("workspace ", path_, " was opened for reading only"));
}

absl::Status Workspace::RemoveStale() const {
  const std::string temporary = internal::TemporaryPrefix(FileName(*rank_));
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!absl::StartsWith(entry->path().filename().string(), temporary)) continue;
    std::error_code ignored;  // a leftover file does no harm
    fs::remove(entry->path(), ignored);
  }
  if (error) return SystemError(error, "list workspace", path_);
  return Clear();
}

absl::Status Workspace::Clear() const {
  if (absl::Status status = CheckWriter(); !status.ok()) return status;
  const std::string path = FileOf(*rank_);
  if (unlink(path.c_str()) == 0) return internal::SyncDirectory(path_);
  if (errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot remove ", path));
}

absl::Status Workspace::Write(const Configuration& configuration) const {
  if (absl::Status status = CheckWriter(); !status.ok()) return status;
  const absl::StatusOr<internal::SafetensorsImage> image = internal::MakeSafetensors(configuration);
  if (!image.ok()) return image.status();
  std::vector<absl::string_view> parts = {image->header};
  parts.insert(parts.end(), image->tensors.begin(), image->tensors.end());
  return internal::WriteAtomically(path_, FileName(*rank_), parts);
}

absl::StatusOr<std::optional<Configuration>> Workspace::Read(int rank) const {
  if (absl::Status status = CheckInitialized(); !status.ok()) return status;
  return Parse(internal::FileBytes::Read(FileOf(rank)), FileOf(rank));
}

absl::StatusOr<std::optional<Configuration>> Workspace::Map(int rank) const {
  if (absl::Status status = CheckInitialized(); !status.ok()) return status;
  return Parse(internal::FileBytes::Map(FileOf(rank)), FileOf(rank));
}

}  // namespace muster
