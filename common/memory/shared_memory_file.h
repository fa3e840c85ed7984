#ifndef MUSTER_COMMON_MEMORY_SHARED_MEMORY_FILE_H_
#define MUSTER_COMMON_MEMORY_SHARED_MEMORY_FILE_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/memory/mapped_memory.h"

namespace muster {

// A file in memory that processes of one machine share. The kernel frees the memory with the last
// process that has the file open or mapped, however that process ends. So a file without a name
// leaves nothing behind. A file with a name should lose it as soon as all processes have opened it:
//
//   absl::StatusOr<SharedMemoryFile> file = SharedMemoryFile::Make(path, size, size, "");
//   absl::StatusOr<MappedMemory> memory = file->Map(size, 0);
//   ... the others Open() and Map() it ...
//   file->Unlink();
//
// Only this user may open a named file. Each process that has it open holds a shared lock on it
// (flock). So a file whose processes were all killed before Unlink() can be told from a file in use
// (RemoveAbandoned()).
//
// An error says what could not be done with which file, and the system's reason. No call blocks.
class SharedMemoryFile {
 public:
  // Makes a file of `size` bytes at `path`, which must be on a tmpfs. It has `content`, then zeros.
  // Memory for the first `reserved` bytes (not 0) is reserved for good. The file gets its name when
  // it is complete. ALREADY_EXISTS if the name is taken. RESOURCE_EXHAUSTED if there is not enough
  // memory, or the process may not make so large a file.
  static absl::StatusOr<SharedMemoryFile> Make(const std::string& path, size_t size,
                                               size_t reserved, absl::string_view content);

  // Opens a file that Make() has made at `path`. NOT_FOUND if nothing has that name,
  // FAILED_PRECONDITION if it is not this user's or has another size.
  static absl::StatusOr<SharedMemoryFile> Open(const std::string& path, size_t size);

  // Makes a file of `size` zeros that never gets a name, in the tmpfs at `folder`. Other processes
  // can open it through /proc. RESOURCE_EXHAUSTED if the process may not make so large a file.
  static absl::StatusOr<SharedMemoryFile> MakeUnnamed(const std::string& folder, size_t size);

  // Makes an unnamed file as above, in no folder (memfd_create), and seals it: no process can
  // shrink or grow it while another one uses it. `name` is its name in /proc and in errors.
  static absl::StatusOr<SharedMemoryFile> MakeSealed(const std::string& name, size_t size);

  ~SharedMemoryFile();
  SharedMemoryFile(SharedMemoryFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        path_(std::move(other.path_)),
        title_(std::move(other.title_)) {}
  SharedMemoryFile& operator=(SharedMemoryFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    std::swap(title_, other.title_);
    return *this;
  }

  // Reserves memory for a part of the file. Without that, a full tmpfs raises SIGBUS at the first
  // touch of a missing page. RESOURCE_EXHAUSTED if there is not enough memory, OUT_OF_RANGE if no
  // file can be so large.
  absl::Status Reserve(size_t offset, size_t bytes) const;

  // Maps the first `size` bytes for reading and writing. Adds `flags` to MAP_SHARED.
  absl::StatusOr<MappedMemory> Map(size_t size, int flags) const;

  // Removes the name, if there is one.
  void Unlink() const;

  int descriptor() const { return descriptor_; }

  // Removes the names of this user's files in `folder` that `is_ours` accepts and that no
  // process has open. Skips files that it cannot remove.
  static void RemoveAbandoned(const std::string& folder,
                              absl::FunctionRef<bool(absl::string_view name)> is_ours);

 private:
  SharedMemoryFile(int descriptor, std::string path, std::string title)
      : descriptor_(descriptor), path_(std::move(path)), title_(std::move(title)) {}
  absl::Status Resize(size_t size) const;
  absl::Status Write(absl::string_view content) const;
  absl::Status Seal() const;
  absl::Status Link(const std::string& path);
  absl::Status Check(size_t size) const;

  int descriptor_;
  std::string path_;   // empty if it has no name
  std::string title_;  // its name in errors
};

}  // namespace muster

#endif  // MUSTER_COMMON_MEMORY_SHARED_MEMORY_FILE_H_
