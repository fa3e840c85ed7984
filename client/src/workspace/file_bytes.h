#ifndef MUSTER_CLIENT_SRC_WORKSPACE_FILE_BYTES_H_
#define MUSTER_CLIENT_SRC_WORKSPACE_FILE_BYTES_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/memory/mapped_memory.h"

namespace muster::internal {

// The bytes of a file, aligned to a page.
class FileBytes {
 public:
  // Read() copies the content of the file at `path`, and Map() maps it into memory. Return
  // NOT_FOUND if there is no file, or the system's error with the path.
  static absl::StatusOr<std::shared_ptr<const FileBytes>> Read(const std::string& path);
  static absl::StatusOr<std::shared_ptr<const FileBytes>> Map(const std::string& path);

  // Maps the first `size` bytes of an open file. `name` is for errors.
  static absl::StatusOr<std::shared_ptr<const FileBytes>> MapDescriptor(int fd, size_t size,
                                                                        const std::string& name);

  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  absl::string_view bytes() const {
    return {static_cast<const char*>(memory_.data()), memory_.size()};
  }

 private:
  explicit FileBytes(MappedMemory memory) : memory_(std::move(memory)) {}
  static absl::StatusOr<std::shared_ptr<const FileBytes>> ReadDescriptor(int fd, size_t size,
                                                                         const std::string& name);

  const MappedMemory memory_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_WORKSPACE_FILE_BYTES_H_
