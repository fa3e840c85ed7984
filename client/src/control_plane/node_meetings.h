#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_NODE_MEETINGS_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_NODE_MEETINGS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/base/steady_clock.h"
#include "client/src/node/futex.h"
#include "client/src/node/meeting.h"
#include "client/src/node/segment.h"
#include "client/src/protocol/messages/effects.h"

namespace muster::internal {

// One member's meetings with other members of its node (client/src/node), in the latest epoch that
// it has entered: the shared memory, and a Place for each group. Not thread-safe, except for
// Place::meeting, which belongs to the thread that has begun it. Tests:
// tests/client/node_driver_test.cc.
class NodeMeetings {
 public:
  struct Place {
    Place(std::shared_ptr<NodeSegment> s, std::vector<SharedSlot> slots_of_node,
          const NodeGroup& group, uint32_t self, const MeetingTimes& times)
        : segment(std::move(s)),
          slots(std::move(slots_of_node), group.members, self),
          meeting(&slots, times) {}

    const std::shared_ptr<NodeSegment> segment;  // keeps the memory mapped
    Slots<SharedFutex> slots;
    Meeting<SharedFutex> meeting;
    uint64_t attempt = 0;  // of the meeting in progress; 0 if there is none
  };

  explicit NodeMeetings(const MeetingTimes& times) : times_(times) {}
  const MeetingTimes& times() const { return times_; }

  // Maps the epoch's segment, for Enter(). Opens files, so do not call it under a lock.
  static absl::StatusOr<std::unique_ptr<NodeSegment>> Open(const EnterNode& enter);
  // Enters the epoch. Without a segment, each member makes its own calls. That is no error, only a
  // line for the log.
  void Enter(const EnterNode& enter, absl::StatusOr<std::unique_ptr<NodeSegment>> segment);

  // Posts the arrival. The caller then runs Place::meeting.Run(), which blocks, and calls End().
  // Returns null if fan-in is not possible now: the member then makes its own call.
  std::shared_ptr<Place> Begin(const MeetAtNode& meet);
  // Revokes the arrival, so that Run() ends soon. No effect if it has ended.
  void Leave(uint64_t attempt);
  void End(Place* place) { place->attempt = 0; }
  // Stops using the slots of a closed group.
  void Retire(const LeaveNodeGroup& leave);
  // Marks that this member makes its own call at this number, so that no member waits for it.
  void Pass(const PassNode& pass);

  // Returns the line to log since the last call, if any.
  std::optional<std::string> TakeNews() { return std::exchange(news_, std::nullopt); }

 private:
  // Returns the group's place, or null if there is none now.
  std::shared_ptr<Place> Find(const NodeGroup& group);
  bool IsReady();
  std::string CallsAlone(absl::string_view why) const;

  const MeetingTimes times_;
  EnterNode node_;
  std::shared_ptr<NodeSegment> segment_;
  SteadyTime entered_;
  bool told_ = false;  // logged that members are missing
  std::optional<std::string> news_;
  // By the group's name; null if the segment has no room.
  std::map<uint64_t, std::shared_ptr<Place>> places_;
  // Names whose slots must not be used again; at most as many as the segment has groups.
  std::set<uint64_t> retired_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_NODE_MEETINGS_H_
