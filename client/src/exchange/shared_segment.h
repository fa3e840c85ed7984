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
#include "common/shared_memory_file.h"

namespace muster::internal {

// Where another process of the same machine finds a segment.
struct SegmentTicket {
  int64_t pid = 0;
  int64_t fd = 0;
  uint64_t device = 0;  // device and inode tell whether what was found is the segment
  uint64_t inode = 0;
  uint64_t size = 0;
};

// Shared memory that this process fills and another one reads. It is a file of a tmpfs that never
// gets a name, so there is nothing to clean up: others open it through /proc while this process has
// it open. (memfd_create() would do too, but knows no limit: asked for too much, it ends in the OOM
// killer and not in an error.)
class SharedSegment {
 public:
  // Reserves memory for `parts` in the tmpfs at `folder` and copies them there.
  // RESOURCE_EXHAUSTED if it has not so much: says what there is, and how to get `total` bytes,
  // which is what all processes of the machine need together.
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

// The content of another process's segment, which must be open there meanwhile. It stays valid
// afterwards. FAILED_PRECONDITION if it cannot be opened, with what has to be so that it can.
absl::StatusOr<std::shared_ptr<const FileBytes>> OpenSegment(const SegmentTicket& ticket);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_EXCHANGE_SHARED_SEGMENT_H_
