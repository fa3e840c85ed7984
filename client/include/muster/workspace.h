#ifndef MUSTER_WORKSPACE_H_
#define MUSTER_WORKSPACE_H_

#include "muster/cxx17.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/tensor.h"

// Configurations and tensors that ranks exchange through files:
//
//   absl::StatusOr<muster::Workspace> workspace = muster::Workspace::Open(folder, job.rank());
//   if (!workspace.ok()) return workspace.status();
//   absl::Status written = workspace->Write({"{\"layer\": 3}", {{"w", muster::ViewOf(weights)}}});
//   if (!written.ok()) return written;
//   absl::Status met = job.Barrier("written");
//   if (!met.ok()) return met;
//   absl::StatusOr<std::optional<muster::Configuration>> first = workspace->Read(0);
namespace muster {

// The configuration of one rank: a JSON text and named tensors.
struct Configuration {
  std::string json = "null";  // well-formed
  Tensors tensors;            // by name
  // The memory of `tensors`, if the library has read them; they are valid as long as a copy of this
  // pointer exists. Null if `tensors` describe the caller's own memory.
  std::shared_ptr<const void> storage = nullptr;
};

// A folder on a shared file system. Every rank writes its own configuration there, and reads the
// configuration of any rank. Weights never travel through the coordinator.
//
// No function waits for another rank. The caller decides when to read, for instance after a
// barrier. A reader always sees a complete file or no file, even while the file is replaced, and
// after a crash of the writer or its machine. Files are in the safetensors format with checksums;
// see docs/workspace.md. Thread-safe, except for two writes of the same rank at once.
class Workspace {
 public:
  // A workspace that is not open. All functions except is_initialized() return FAILED_PRECONDITION.
  Workspace() = default;

  // Opens the workspace at `path` for the process with this rank. Creates the folder and its
  // parents if they are missing. Removes the files of this rank that an earlier run or a crash has
  // left; never touches files of other ranks. INVALID_ARGUMENT: the path is empty or the rank
  // negative. Other errors are the system's, with the path.
  static absl::StatusOr<Workspace> Open(const std::string& path, int rank);

  // Opens a workspace to read only. NOT_FOUND: the folder does not exist.
  static absl::StatusOr<Workspace> OpenForReading(const std::string& path);

  // Return whether the workspace is open, and its folder.
  bool is_initialized() const { return !path_.empty(); }
  const std::string& path() const { return path_; }

  // Writes this rank's configuration, which replaces the previous one. Returns when it is on the
  // disk. Writes `json` and the tensors to one file, so that a reader sees both or neither. Does
  // not copy the tensors in memory. INVALID_ARGUMENT: the JSON is malformed, or a tensor has a name
  // that is empty, too long or not UTF-8, or a shape that does not fit its size. Other errors are
  // the system's, with the path of the file. After an error the previous configuration is still
  // there.
  absl::Status Write(const Configuration& configuration) const;

  // Reads the latest configuration of `rank` into memory. Returns nullopt if that rank has written
  // none.
  // DATA_LOSS: the file is damaged or truncated; names the file and the damage.
  absl::StatusOr<std::optional<Configuration>> Read(int rank) const;

  // Does the same, but maps the file, for files of which only a part is needed. Reads the whole
  // file once to verify it. Use it on local file systems only: if the file is deleted on a network
  // file system, access to the tensors kills the process (SIGBUS).
  absl::StatusOr<std::optional<Configuration>> Map(int rank) const;

  // Removes this rank's configuration.
  absl::Status Clear() const;

  // Returns the path of the file of `rank`: path()/rank-R.safetensors.
  std::string FileOf(int rank) const;

 private:
  explicit Workspace(std::string path, std::optional<int> rank = std::nullopt)
      : path_(std::move(path)), rank_(rank) {}
  absl::Status CheckInitialized() const;
  absl::Status CheckWriter() const;
  absl::Status RemoveStale() const;

  std::string path_;
  std::optional<int> rank_;
};

}  // namespace muster

#endif  // MUSTER_WORKSPACE_H_
