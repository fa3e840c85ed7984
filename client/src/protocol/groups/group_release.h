#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_GROUP_RELEASE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_GROUP_RELEASE_H_

#include <cstdint>
#include <utility>

namespace muster::internal {

// How far a group is on its way to be forgotten, as docs/protocol-failure.md explains under "How
// groups are forgotten". Pure: no I/O, no threads, no clock.
class GroupRelease {
 public:
  // Returns whether the program has released the group: it has no handle and no call in progress.
  bool released() const { return released_; }
  // Returns whether all ranks have released the group, while not all of them know that yet.
  bool closed() const { return closed_; }
  // Returns whether an earlier life of the group is not over yet.
  bool is_past() const { return released_ || closed_; }
  // Returns the number of the latest change that the coordinator does not know of; 0 if there is
  // none.
  uint64_t unreported_change() const { return unreported_change_; }

  // Releases the group. Returns false if it was released before.
  bool Release() { return !std::exchange(released_, true); }
  // Takes the group back, because the program calls it again. The call itself tells the
  // coordinator.
  void Retain() {
    if (!std::exchange(released_, false) || closed_) return;
    unreported_change_ = 0;
    claimed_ = false;
  }
  // Closes the group. Returns false if it was closed before.
  bool Close() { return !std::exchange(closed_, true); }
  // Notes that all ranks know that the group is closed.
  void Settle() {
    closed_ = false;
    unreported_change_ = 0;
    claimed_ = false;
  }
  // Returns whether the coordinator's "settled" counts. For a group that is open here, it means
  // that the coordinator does not know the group. That may be out of date: the claim says that the
  // group is released, and the program calls the group again; then the answer to the claim arrives.
  // The call makes the group known, so the answer does not count.
  bool MaySettle() const { return closed_ || (released_ && claimed_); }

  // Notes that there is something to tell, under this number.
  void NoteChange(uint64_t number) {
    unreported_change_ = number;
    claimed_ = false;
  }
  // Notes that a call (Reported) or the claim of an Attach (Claimed) has told the coordinator.
  void Reported() { unreported_change_ = 0; }
  void Claimed() {
    unreported_change_ = 0;
    claimed_ = is_past();
  }

 private:
  bool released_ = false;
  bool closed_ = false;
  uint64_t unreported_change_ = 0;
  bool claimed_ = false;  // the latest claim said so (is_past())
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_GROUP_RELEASE_H_
