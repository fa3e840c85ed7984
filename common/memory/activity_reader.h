#ifndef MUSTER_COMMON_MEMORY_ACTIVITY_READER_H_
#define MUSTER_COMMON_MEMORY_ACTIVITY_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/memory/activity_board.h"
#include "common/memory/mapped_memory.h"
#include "common/memory/shared_memory_file.h"

// The activity of a rank's communicators, as its launcher reads it from shared memory, whatever
// state the rank is in:
//
//   launcher:  ActivityReader::Make(), and MUSTER_ACTIVITY_FILE=path() in the rank's environment
//   rank:      writes with ActivityPublisher, without locks and system calls
//   launcher:  Read(), at any time
namespace muster {

// The activity of one communicator.
struct CommunicatorActivity {
  std::string name;       // the same on all of its ranks: "communicator 1 of the world"
  uint64_t begun = 0;     // number of operations that have begun
  uint64_t ended = 0;     // number of these that have ended
  std::string operation;  // the latest: "AllReduce"; empty before the first
  uint64_t bytes = 0;     // bytes that this rank contributes or receives
  // The time since `operation` began. If all operations have ended, since the last one ended. If
  // there were none, since the communicator was created.
  absl::Duration since;
};

// The launcher's side of the memory, which it makes and reads. Not thread-safe.
class ActivityReader {
 public:
  // Makes the memory. An error says why that is not possible; a rank works without it.
  static absl::StatusOr<std::unique_ptr<ActivityReader>> Make();
  ActivityReader(const ActivityReader&) = delete;
  ActivityReader& operator=(const ActivityReader&) = delete;

  // Returns the path for the rank's environment. Valid while this object and this process live.
  const std::string& path() const { return path_; }

  // Returns the activity of the rank's communicators, roughly in the order of their creation. Does
  // not block. Trusts nothing in the memory, since the rank may have written anything.
  std::vector<CommunicatorActivity> Read() const;

 private:
  ActivityReader(SharedMemoryFile file, MappedMemory memory);
  activity::Board* board() const { return static_cast<activity::Board*>(memory_.data()); }

  const SharedMemoryFile file_;
  const MappedMemory memory_;
  const std::string path_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_MEMORY_ACTIVITY_READER_H_
