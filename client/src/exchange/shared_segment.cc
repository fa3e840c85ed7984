#include "client/src/exchange/shared_segment.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

size_t SizeOf(const std::vector<absl::string_view>& parts) {
  size_t size = 0;
  for (const absl::string_view part : parts) size += part.size();
  return size;
}

std::string FreeSpace(const std::string& folder) {
  struct statvfs info;
  if (statvfs(folder.c_str(), &info) != 0) return "an unknown number";
  return absl::StrCat(info.f_bavail * info.f_frsize, " of ", info.f_blocks * info.f_frsize);
}

absl::Status TooSmall(size_t size, size_t total, const std::string& folder) {
  const size_t mebibytes = total / kMebibyte + 1;
  return absl::ResourceExhaustedError(absl::StrCat(
      size, " bytes of shared memory are needed, ", total, " for all ranks of this node, and ",
      folder, " has ", FreeSpace(folder),
      " bytes free; make it larger (docker run --shm-size=", mebibytes,
      "m; in Kubernetes an emptyDir of medium Memory at /dev/shm; mount -o remount,size=",
      mebibytes, "m ", folder, "), or exchange through a shared folder"));
}

absl::Status CannotOpen(const SegmentTicket& ticket, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("its shared memory cannot be opened through /proc/", ticket.pid, "/fd: ", why,
                   "; the processes must see each other's pids and run as the same user, or "
                   "exchange through a shared folder"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Create(
    const std::vector<absl::string_view>& parts, size_t total, const std::string& folder) {
  const size_t size = SizeOf(parts);
  absl::StatusOr<SharedMemoryFile> file = SharedMemoryFile::MakeUnnamed(folder, size);
  if (!file.ok()) return file.status();
  std::unique_ptr<SharedSegment> segment(new SharedSegment(*std::move(file), size));
  if (size == 0) return segment;
  if (absl::Status s = segment->Reserve(total, folder); !s.ok()) return s;
  if (absl::Status s = segment->Fill(parts); !s.ok()) return s;
  return segment;
}

absl::Status SharedSegment::Reserve(size_t total, const std::string& folder) const {
  const absl::Status status = file_.Reserve(0, size_);
  const bool lacks = absl::IsResourceExhausted(status) || absl::IsOutOfRange(status);
  return lacks ? TooSmall(size_, total, folder) : status;
}

absl::Status SharedSegment::Fill(const std::vector<absl::string_view>& parts) const {
  const absl::StatusOr<MappedMemory> memory = file_.Map(size_, 0);
  if (!memory.ok()) return memory.status();
  char* next = static_cast<char*>(memory->data());
  for (const absl::string_view part : parts) {
    if (!part.empty()) memcpy(next, part.data(), part.size());
    next += part.size();
  }
  return absl::OkStatus();
}

absl::StatusOr<SegmentTicket> SharedSegment::Ticket() const {
  struct stat info;
  if (fstat(file_.descriptor(), &info) != 0)
    return absl::ErrnoToStatus(errno, "cannot inspect shared memory");
  return SegmentTicket{getpid(), file_.descriptor(), info.st_dev, info.st_ino, size_};
}

absl::StatusOr<std::shared_ptr<const FileBytes>> OpenSegment(const SegmentTicket& ticket) {
  const std::string path = absl::StrCat("/proc/", ticket.pid, "/fd/", ticket.fd);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return CannotOpen(ticket, strerror(errno));
  const auto closer = absl::MakeCleanup([fd] { close(fd); });
  struct stat info;
  // In another pid namespace, the pid may belong to any process.
  if (fstat(fd, &info) != 0 || info.st_dev != ticket.device || info.st_ino != ticket.inode ||
      static_cast<uint64_t>(info.st_size) != ticket.size) {
    return CannotOpen(ticket, "that pid is another process here");
  }
  return FileBytes::MapDescriptor(fd, ticket.size, path);
}

}  // namespace muster::internal
