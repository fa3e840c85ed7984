#ifndef MUSTER_CLIENT_SRC_JOB_GROUP_STATE_H_
#define MUSTER_CLIENT_SRC_JOB_GROUP_STATE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/src/control_plane/control_plane.h"
#include "client/src/job/block_preventions.h"

namespace muster::internal {

// Numbers of NumberedGroups that were left behind: they must not be used again when the program
// makes a handle of the same group once more. Thread-safe.
class LeftNumbers {
 public:
  void Set(const std::string& group, uint64_t next) {
    if (next == 0) return;
    absl::MutexLock lock(&mutex_);
    next_[group] = next;
  }
  uint64_t Get(const std::string& group) {
    absl::MutexLock lock(&mutex_);
    const auto next = next_.find(group);
    return next == next_.end() ? 0 : next->second;
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, uint64_t> next_ ABSL_GUARDED_BY(mutex_);
};

// What a Group handle points to.
struct GroupState {
  GroupState() = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;
  // The last handle goes: the program lets the group go.
  ~GroupState() {
    if (left_numbers != nullptr) left_numbers->Set(name, next_number);
    if (is_held && control->CheckProcess().ok()) control->DropGroup(name, ranks);
  }
  // The first handle is made. Not of the world, which is never let go.
  void Hold() {
    control->HoldGroup(name, ranks);
    is_held = true;
  }

  std::shared_ptr<ControlPlane> control;
  std::string name;
  std::vector<int> ranks;  // of the world too
  int rank = 0;            // the caller's index in `ranks`
  bool is_held = false;    // see Hold()
  // The next good number of a NumberedGroup of this one. One call at a time asks.
  std::atomic<uint64_t> next_number{0};
  std::shared_ptr<LeftNumbers> left_numbers;  // where that number goes; may be null
  std::atomic<uint64_t> communicators{0};     // that this process has created for it
  // Null: no scope of muster/scopes.h can be open.
  std::shared_ptr<const BlockPreventions> block_preventions;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_GROUP_STATE_H_
