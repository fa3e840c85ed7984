#ifndef MUSTER_COMMON_RANK_ACTIVITY_H_
#define MUSTER_COMMON_RANK_ACTIVITY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/activity_board.h"
#include "common/mapped_memory.h"
#include "common/shared_memory_file.h"

// What the communicators of a rank do, where its launcher can see it whatever state the rank is in:
// in memory that they share. The launcher makes it and names it in MUSTER_ACTIVITY_FILE; the rank
// writes (published_activity.h), without locks and system calls, and the launcher reads.
namespace muster {

// One communicator.
struct CommunicatorActivity {
  std::string name;       // alike on all of its ranks: "communicator 1 of the world"
  uint64_t begun = 0;     // operations
  uint64_t ended = 0;     // of these
  std::string operation;  // the latest to begin: "AllReduce"; empty before the first
  uint64_t bytes = 0;     // what this rank brings to it, or takes
  // Since it began, or, where all that began have ended, since the last one did; of one without
  // operations, since the communicator is there.
  absl::Duration since;
};

// The memory, as the launcher has it. Not thread-safe.
class RankActivity {
 public:
  // An error says why there is no memory for it; a rank can do without.
  static absl::StatusOr<std::unique_ptr<RankActivity>> Make();
  RankActivity(const RankActivity&) = delete;
  RankActivity& operator=(const RankActivity&) = delete;

  // For the rank's environment. Good as long as this object and its process are there.
  const std::string& path() const { return path_; }

  // What the rank's communicators do now, in the order in which they were made, if roughly. Does
  // not block, and believes nothing: the rank may have written anything.
  std::vector<CommunicatorActivity> Read() const;

 private:
  RankActivity(SharedMemoryFile file, MappedMemory memory);
  activity::Board* board() const { return static_cast<activity::Board*>(memory_.data()); }

  const SharedMemoryFile file_;
  const MappedMemory memory_;
  const std::string path_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_RANK_ACTIVITY_H_
