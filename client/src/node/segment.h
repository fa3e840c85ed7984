#ifndef MUSTER_CLIENT_SRC_NODE_SEGMENT_H_
#define MUSTER_CLIENT_SRC_NODE_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/node/fan_in_slots.h"
#include "common/memory/mapped_memory.h"
#include "common/memory/shared_memory_file.h"

namespace muster::internal {

// The name and the size of a segment. Equal for all members of a node, except for `self`.
struct SegmentOptions {
  std::string job_id;
  uint64_t epoch_number = 0;
  uint64_t epoch_nonce = 0;
  std::string node_id;
  uint32_t members = 0;  // on this node, in this epoch; at most SlotWord::kMaxMembers
  uint32_t self = 0;     // this member's index among them
  // Capacity. Memory is only used for groups and senders that exist.
  uint32_t groups = 16;
  uint32_t content_bytes = 8 << 10;  // of a contribution: the call's bytes and the payload
  uint32_t result_bytes = 64 << 10;  // of a sender's published result
  std::string folder = "/dev/shm";   // must be a tmpfs
};

// The shared memory of one epoch's members on one node: a table of groups, and for each group a
// commit word, a bell and one slot per member.
//
// The first member to arrive creates it, under a name that only this epoch's members on this node
// know. Members use it only after all of them have mapped it (Ready()), and no member waits for
// that. So where processes of a node do not share the folder, as in containers, it stays unused.
// The last member to map it removes the name. The kernel frees the memory when the last process has
// ended, however it ends.
//
// Thread-safe, except for FindGroup(). Its rules are R1 of docs/node-fan-in.md; tests:
// tests/client/node/segment_test.cc.
class NodeSegment {
 public:
  // Maps the segment, and creates it if it does not exist. Never blocks. An error says why this
  // member cannot use fan-in. It is not a failure of the job: each member then makes its own calls.
  static absl::StatusOr<std::unique_ptr<NodeSegment>> Open(const SegmentOptions& options);
  // Unmaps the segment. Removes its name if not all members have mapped it.
  ~NodeSegment();
  NodeSegment(const NodeSegment&) = delete;
  NodeSegment& operator=(const NodeSegment&) = delete;

  // Returns whether all members of the node have mapped the segment. Once true, it stays true.
  bool Ready();

  // Returns how many members of the node have mapped the segment.
  uint32_t Mapped() const;

  // Returns the memory of a group. `name` is a digest of the group, equal on all members. The
  // memory lives as long as the segment. Returns nullopt if the table is full or there is no
  // memory. The members of the group then make their own calls.
  std::optional<SharedGroup> FindGroup(uint64_t name);

  const std::string& path() const { return path_; }

 private:
  struct Header;
  // Offsets of the segment's parts, in bytes.
  struct Layout {
    explicit Layout(const SegmentOptions& options);
    size_t groups;  // names of the groups
    size_t shared;  // commit word and bell of each group, in a cache line of their own
    size_t words;   // of the slots, each in its own cache line
    size_t areas;   // contents and results
    size_t area;    // size of the area of one member in one group
    size_t total;
  };

  NodeSegment(const SegmentOptions& options, std::string path);
  absl::Status OpenOrMake();
  absl::StatusOr<SharedMemoryFile> Make() const;
  absl::Status Map();
  absl::Status Enter();
  Header* header() const;
  std::optional<uint32_t> FindEntry(uint64_t name);
  SharedSlot SlotOf(uint32_t group, uint32_t member) const;
  char* At(size_t offset) const { return static_cast<char*>(memory_.data()) + offset; }

  const SegmentOptions options_;
  const Layout layout_;
  const std::string path_;
  std::optional<SharedMemoryFile> file_;
  MappedMemory memory_;
  std::vector<bool> reserved_;  // whether this member's area is reserved, by group
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_SEGMENT_H_
