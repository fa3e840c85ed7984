#ifndef MUSTER_CLIENT_SRC_GROUP_GROUP_STATE_H_
#define MUSTER_CLIENT_SRC_GROUP_GROUP_STATE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/src/control_plane/control_plane.h"
#include "client/src/group/block_preventions.h"

namespace muster::internal {

// The next numbers of NumberedGroups, kept after the last handle of their group is gone. If the
// program makes a new handle of the same group, it must not reuse a number that was left behind.
// Thread-safe.
class NextGroupNumbers {
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

// The state behind a Group handle.
struct GroupState {
  GroupState() = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;
  // Runs when the last handle goes: releases the group.
  ~GroupState() {
    if (next_numbers != nullptr) next_numbers->Set(name, next_number);
    if (is_held && control->CheckProcess().ok()) control->DropGroup(name, ranks);
  }
  // Announces the first handle. Not for the world, which is never released.
  void Hold() {
    control->HoldGroup(name, ranks);
    is_held = true;
  }

  std::shared_ptr<ControlPlane> control;
  std::string name;
  std::vector<int> ranks;  // set for the world too
  int rank = 0;            // the caller's index in `ranks`
  bool is_held = false;    // see Hold()
  // The next unused number of a NumberedGroup of this group. Only one call at a time reads it.
  std::atomic<uint64_t> next_number{0};
  std::shared_ptr<NextGroupNumbers> next_numbers;  // keeps that number; may be null
  std::atomic<uint64_t> communicators{0};  // how many of its communicators this process has created
  // Null if no scope of muster/scopes.h can be open.
  std::shared_ptr<const BlockPreventions> block_preventions;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_GROUP_GROUP_STATE_H_
