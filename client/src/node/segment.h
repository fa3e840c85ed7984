#ifndef MUSTER_CLIENT_SRC_NODE_SEGMENT_H_
#define MUSTER_CLIENT_SRC_NODE_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/node/slots.h"
#include "common/mapped_memory.h"
#include "common/shared_memory_file.h"

namespace muster::internal {

// Which segment it is, and how large. The same for all members of a node but for `self`.
struct SegmentOptions {
  std::string job_id;
  uint64_t epoch_number = 0;
  uint64_t epoch_nonce = 0;
  std::string node_id;
  uint32_t members = 0;  // of the node, in the epoch; at most SlotWord::kMaxMembers
  uint32_t self = 0;     // this member among them
  // What there is room for. Memory is taken as it is used, for the groups and senders that there
  // are.
  uint32_t groups = 16;
  uint32_t content_bytes = 8 << 10;  // what one member brings: its call's words and its payload
  uint32_t result_bytes = 64 << 10;  // what a sender publishes
  std::string folder = "/dev/shm";   // a tmpfs
};

// The shared memory in which the members of one node meet, in one epoch: a table of groups, and for
// each group one slot per member. The first who comes makes it, by a name that only this epoch's
// members of this node know; the name goes when all have it mapped, and the memory with the last
// of them, however they end. Before all have come nothing is done with it: nobody waits for that.
// So it stays unused where processes of one node do not share the folder, as in containers.
//
// Thread-safe but for FindGroup().
class NodeSegment {
 public:
  // Maps the segment, or makes it. Never blocks. An error says why members of this node cannot meet
  // here; that is no failure of the job, which does without.
  static absl::StatusOr<std::unique_ptr<NodeSegment>> Open(const SegmentOptions& options);
  // Takes the name away where not all have come.
  ~NodeSegment();
  NodeSegment(const NodeSegment&) = delete;
  NodeSegment& operator=(const NodeSegment&) = delete;

  // All members of the node have it. Once true, it stays so.
  bool Ready();

  // How many members of the node have it.
  uint32_t Mapped() const;

  // The slots of all members of the node in the group of that name: a digest, the same for all who
  // mean the same group. They live as long as the segment. Nullopt if there is no room for another
  // group, or no memory: its members make calls of their own.
  std::optional<std::vector<SharedSlot>> FindGroup(uint64_t name);

  const std::string& path() const { return path_; }

 private:
  struct Header;
  // Where things are, in bytes from the beginning.
  struct Layout {
    explicit Layout(const SegmentOptions& options);
    size_t groups;  // their names
    size_t words;   // each in a cache line of its own
    size_t areas;   // contents and results
    size_t area;    // of one member in one group
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
  std::vector<bool> reserved_;  // this member's areas, by group
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_SEGMENT_H_
