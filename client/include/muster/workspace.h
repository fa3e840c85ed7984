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

namespace muster {

// What one rank has to say: a text of JSON, and named tensors.
struct Configuration {
  std::string json = "null";  // well-formed
  Tensors tensors;            // by name
  // Holds the memory of `tensors` where the library has read them; they are valid as long as a copy
  // of this is. Null where the caller's own memory is described.
  std::shared_ptr<const void> storage = nullptr;
};

// A folder on a shared file system, through which every rank writes its configuration and tensors
// and reads any rank's. Weights never pass through the coordinator.
//
// Nothing here waits for another rank: when to read what has been written is the caller's to
// synchronize, with a barrier for instance. A reader sees a whole file or none, at any time, also
// while it is replaced, and after a crash of the writer or of its machine. Files are in the
// safetensors format, with checksums: docs/workspace.md. Thread-safe, but for two writes of one
// rank at once.
class Workspace {
 public:
  // Not initialized: every call but is_initialized() is refused with FAILED_PRECONDITION.
  Workspace() = default;

  // The workspace at `path`, for the process that is `rank`. The folder is created, with its
  // parents, if it is missing. What this rank wrote earlier, and what a crash of it left behind, is
  // removed; files of other ranks are never touched.
  // INVALID_ARGUMENT: no path, a negative rank. Otherwise the system's error with the path.
  static absl::StatusOr<Workspace> Open(const std::string& path, int rank);

  // The same for a process that only reads. NOT_FOUND if there is no folder.
  static absl::StatusOr<Workspace> OpenForReading(const std::string& path);

  // Whether it was opened, and the folder in which it is.
  bool is_initialized() const { return !path_.empty(); }
  const std::string& path() const { return path_; }

  // Writes this rank's configuration in place of what it has written before. At return it is on the
  // disk. `json` and tensors go into one file, so that no reader sees the one without the other.
  // Tensors are written from where they lie, without a copy.
  // INVALID_ARGUMENT names what is malformed: the JSON, or a tensor whose name is empty, too long
  // or not UTF-8, or whose shape does not fit its size. Otherwise the system's error with the
  // file's path, and what was written before is still there.
  absl::Status Write(const Configuration& configuration) const;

  // What `rank` has written last; nullopt if it has written nothing. Reads it into memory.
  // DATA_LOSS names a file that is damaged or truncated, and what is wrong with it.
  absl::StatusOr<std::optional<Configuration>> Read(int rank) const;

  // The same, mapped into memory: for files that are larger than what is needed of them. All of it
  // is read once to check it. For local file systems: if the file is deleted on a network file
  // system, touching the tensors kills the process (SIGBUS).
  absl::StatusOr<std::optional<Configuration>> Map(int rank) const;

  // Removes what this rank has written.
  absl::Status Clear() const;

  // Where `rank` writes: path()/rank-R.safetensors.
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
