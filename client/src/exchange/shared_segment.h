#ifndef MUSTER_CLIENT_SRC_EXCHANGE_SHARED_SEGMENT_H_
#define MUSTER_CLIENT_SRC_EXCHANGE_SHARED_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/workspace/file_bytes.h"
#include "common/memory/shared_memory_file.h"

namespace muster::internal {

// The place where another process of the same machine finds a segment.
struct SegmentTicket {
  int64_t pid = 0;
  int64_t fd = 0;
  uint64_t device = 0;  // with the inode, shows whether an opened file is the segment
  uint64_t inode = 0;
  uint64_t size = 0;
};

// Shared memory that this process fills and another one reads. It is a file on a tmpfs without a
// name: others open it through /proc while this process has it open. So nothing needs to be cleaned
// up. memfd_create() would work too, but has no limit: too large a request would end in the OOM
// killer instead of an error.
class SharedSegment {
 public:
  // Reserves memory in the tmpfs at `folder` and copies `parts` there. If there is too little
  // memory, returns RESOURCE_EXHAUSTED, with what is free and how to get `total` bytes, which all
  // processes of the machine need together.
  static absl::StatusOr<std::unique_ptr<SharedSegment>> Create(
      const std::vector<absl::string_view>& parts, size_t total,
      const std::string& folder = "/dev/shm");

  absl::StatusOr<SegmentTicket> Ticket() const;

 private:
  SharedSegment(SharedMemoryFile file, size_t size) : file_(std::move(file)), size_(size) {}
  absl::Status Reserve(size_t total, const std::string& folder) const;
  absl::Status Fill(const std::vector<absl::string_view>& parts) const;

  const SharedMemoryFile file_;
  const size_t size_;
};

// Returns the content of another process's segment. That process must keep it open until this
// returns; the content stays valid afterwards. Returns FAILED_PRECONDITION, with what must change,
// if it cannot be opened.
absl::StatusOr<std::shared_ptr<const FileBytes>> OpenSegment(const SegmentTicket& ticket);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_EXCHANGE_SHARED_SEGMENT_H_
