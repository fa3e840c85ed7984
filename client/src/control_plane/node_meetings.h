#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_NODE_MEETINGS_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_NODE_MEETINGS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "client/src/base/steady_clock.h"
#include "client/src/node/futex.h"
#include "client/src/node/meeting.h"
#include "client/src/node/segment.h"
#include "client/src/protocol/effects.h"

namespace muster::internal {

// Where one member meets others of its node, in the latest epoch that it has entered: the shared
// memory, and a place for each group. Not thread-safe, but for Place::meeting: it belongs to who
// has begun it.
class NodeMeetings {
 public:
  struct Place {
    Place(std::shared_ptr<NodeSegment> s, std::vector<SharedSlot> slots_of_node,
          const NodeGroup& group, uint32_t self, const MeetingTimes& times)
        : segment(std::move(s)),
          slots(std::move(slots_of_node), group.members, self),
          meeting(&slots, times) {}

    const std::shared_ptr<NodeSegment> segment;  // holds the memory
    Slots<SharedFutex> slots;
    Meeting<SharedFutex> meeting;
    uint64_t attempt = 0;  // of the meeting in progress; 0: there is none
  };

  explicit NodeMeetings(const MeetingTimes& times) : times_(times) {}
  const MeetingTimes& times() const { return times_; }

  // Maps the epoch's segment. Where that is not possible nobody is met; that is logged, for those
  // who want to know, and is no error.
  void Enter(const EnterNode& enter);

  // Arrives; what follows is Place::meeting.Run(), which blocks, and then End(). Null where the
  // member cannot meet others now and calls by itself.
  std::shared_ptr<Place> Begin(const MeetAtNode& meet);
  // Revokes the arrival, so that Run() ends soon. No effect if it has ended.
  void Leave(uint64_t attempt);
  void End(Place* place) { place->attempt = 0; }
  // Nobody need wait for this member at that number.
  void Pass(const PassNode& pass);

 private:
  // The group's place; null where there is none, or not yet.
  std::shared_ptr<Place> Find(const NodeGroup& group);
  bool IsReady();

  const MeetingTimes times_;
  EnterNode node_;
  std::shared_ptr<NodeSegment> segment_;
  SteadyTime entered_;
  bool told_ = false;                                  // that somebody is missing
  std::map<uint64_t, std::shared_ptr<Place>> places_;  // by the group's name; null: no room
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_NODE_MEETINGS_H_
