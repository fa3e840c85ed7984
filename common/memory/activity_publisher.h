#ifndef MUSTER_COMMON_MEMORY_ACTIVITY_PUBLISHER_H_
#define MUSTER_COMMON_MEMORY_ACTIVITY_PUBLISHER_H_

#include <cstdint>
#include <string_view>

#include "common/memory/activity_board.h"

namespace muster {

// The activity of one communicator of this process, published for its launcher: see
// activity_reader.h. Does nothing if no launcher has asked for it, or if there are more than 64
// communicators. Takes no locks, and makes no system calls after the first communicator of a
// process. Needs only the C++ library, since NCCL's profiler plug-in uses it too. Not thread-safe.
class ActivityPublisher {
 public:
  // Publishes `name`. If it has more than 96 bytes, publishes its beginning and a fingerprint of
  // the whole name, so that different names stay different.
  explicit ActivityPublisher(std::string_view name);
  ~ActivityPublisher();
  ActivityPublisher(const ActivityPublisher&) = delete;
  ActivityPublisher& operator=(const ActivityPublisher&) = delete;

  // Begins an operation. Earlier ones may still be in progress.
  void Begin(std::string_view operation, uint64_t bytes);
  // Ends the oldest operation in progress.
  void End();

 private:
  activity::Slot* const slot_;  // null: publishes nothing
};

}  // namespace muster

#endif  // MUSTER_COMMON_MEMORY_ACTIVITY_PUBLISHER_H_
