#ifndef MUSTER_CLIENT_SRC_GROUP_GROUP_STATE_H_
#define MUSTER_CLIENT_SRC_GROUP_GROUP_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/src/control_plane/control_plane.h"
#include "client/src/group/block_preventions.h"

namespace muster::internal {

// The lowest number for NumberedGroups of a new handle. If the program makes a group again whose
// last handle is gone, it must not reuse a number that was left behind. One number stands for all
// groups that are gone, so a program may name groups without end. Numbers may be skipped, since the
// ranks agree on the highest one that a rank needs. Thread-safe.
class LowestGroupNumber {
 public:
  uint64_t Get() const { return lowest_; }
  void Raise(uint64_t to) {
    uint64_t lowest = lowest_;
    while (lowest < to && !lowest_.compare_exchange_weak(lowest, to)) {
    }
  }

 private:
  std::atomic<uint64_t> lowest_{0};
};

// The state behind a Group handle.
struct GroupState {
  GroupState() = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;
  // Runs when the last handle goes: releases the group.
  ~GroupState() {
    if (lowest_number != nullptr) lowest_number->Raise(next_number);
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
  // Keeps that number when the group goes. Null if the name is never used again.
  std::shared_ptr<LowestGroupNumber> lowest_number;
  std::atomic<uint64_t> communicators{0};  // how many of its communicators this process has created
  // Null if no scope of muster/scopes.h can be open.
  std::shared_ptr<const BlockPreventions> block_preventions;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_GROUP_GROUP_STATE_H_
