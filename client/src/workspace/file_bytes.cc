#include "client/src/workspace/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

using Result = absl::StatusOr<std::shared_ptr<const FileBytes>>;

constexpr size_t kMaxRead = size_t{1} << 30;

std::string CannotRead(const std::string& path) { return absl::StrCat("cannot read ", path); }

// Opens `path` and passes the descriptor and the size to `load`.
Result Load(const std::string& path, Result (*load)(int, size_t, const std::string&)) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, CannotRead(path));
  const auto closer = absl::MakeCleanup([fd] { close(fd); });
  struct stat info;
  if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, CannotRead(path));
  if (!S_ISREG(info.st_mode)) return absl::DataLossError(absl::StrCat(path, " is not a file"));
  return load(fd, info.st_size, path);
}

absl::Status ReadAll(int fd, char* data, size_t size, const std::string& name) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = pread(fd, data + done, std::min(size - done, kMaxRead), done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, CannotRead(name));
    if (got == 0)
      return absl::DataLossError(absl::StrCat(name, " was truncated while it was read"));
    done += got;
  }
  return absl::OkStatus();
}

}  // namespace

Result FileBytes::Read(const std::string& path) { return Load(path, ReadDescriptor); }
Result FileBytes::Map(const std::string& path) { return Load(path, MapDescriptor); }

Result FileBytes::MapDescriptor(int fd, size_t size, const std::string& name) {
  if (size == 0) return std::shared_ptr<const FileBytes>(new FileBytes(MappedMemory()));
  absl::StatusOr<MappedMemory> memory =
      MappedMemory::Map(fd, size, PROT_READ, MAP_SHARED, CannotRead(name));
  if (!memory.ok()) return memory.status();
  return std::shared_ptr<const FileBytes>(new FileBytes(*std::move(memory)));
}

Result FileBytes::ReadDescriptor(int fd, size_t size, const std::string& name) {
  if (size == 0) return std::shared_ptr<const FileBytes>(new FileBytes(MappedMemory()));
  // Uses mmap() and not the heap: a damaged file may claim any size, and then mmap() returns an
  // error.
  absl::StatusOr<MappedMemory> memory = MappedMemory::Map(
      -1, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, CannotRead(name));
  if (!memory.ok()) return memory.status();
  absl::Status status = ReadAll(fd, static_cast<char*>(memory->data()), size, name);
  if (!status.ok()) return status;
  return std::shared_ptr<const FileBytes>(new FileBytes(*std::move(memory)));
}

}  // namespace muster::internal
