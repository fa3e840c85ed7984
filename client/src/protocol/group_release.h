#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASE_H_

#include <cstdint>
#include <utility>

namespace muster::internal {

// How far a group is on its way to be forgotten: docs/protocol-failure.md, "How groups are
// forgotten".
// Pure: no I/O, no threads, no clock.
class GroupRelease {
 public:
  // The program has let the group go: it has no handle of it, and no call in progress.
  bool released() const { return released_; }
  // All ranks have let it go, as the coordinator has said, and not yet that all know it.
  bool closed() const { return closed_; }
  // Whether an earlier life of the group is not over yet.
  bool is_past() const { return released_ || closed_; }
  // Numbers what there is to tell the coordinator of the above; 0: nothing.
  uint64_t news() const { return news_; }

  // Returns whether the program had not let it go before.
  bool LetGo() { return !std::exchange(released_, true); }
  // The program calls the group again. The call itself tells the coordinator of it.
  void Retain() {
    if (!std::exchange(released_, false) || closed_) return;
    news_ = 0;
    claimed_ = false;
  }
  // Returns whether it was open before.
  bool Close() { return !std::exchange(closed_, true); }
  // All ranks know that it is closed.
  void Settle() {
    closed_ = false;
    news_ = 0;
    claimed_ = false;
  }
  // Whether the coordinator's word that the group is settled counts. Of a group that is open here
  // it means that the coordinator does not know it; but if the program has called the group since
  // it was claimed, the coordinator will.
  bool MaySettle() const { return closed_ || (released_ && claimed_); }

  // There is something to tell, by this number.
  void NoteNews(uint64_t number) {
    news_ = number;
    claimed_ = false;
  }
  // The coordinator has been told, by a call or by the claim of an Attach.
  void Told() { news_ = 0; }
  void Claimed() {
    news_ = 0;
    claimed_ = is_past();
  }

 private:
  bool released_ = false;
  bool closed_ = false;
  uint64_t news_ = 0;
  bool claimed_ = false;  // the claim of the latest Attach says so of it
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASE_H_
