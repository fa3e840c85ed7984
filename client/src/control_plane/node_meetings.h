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

  // Maps the epoch's segment, for Enter(). Uses files: not to be called under a lock.
  static absl::StatusOr<std::unique_ptr<NodeSegment>> Open(const EnterNode& enter);
  // The members of the epoch meet in its segment. Where there is none nobody is met; that is news,
  // for those who want to know, and no error.
  void Enter(const EnterNode& enter, absl::StatusOr<std::unique_ptr<NodeSegment>> segment);

  // Arrives; what follows is Place::meeting.Run(), which blocks, and then End(). Null where the
  // member cannot meet others now and calls by itself.
  std::shared_ptr<Place> Begin(const MeetAtNode& meet);
  // Revokes the arrival, so that Run() ends soon. No effect if it has ended.
  void Leave(uint64_t attempt);
  void End(Place* place) { place->attempt = 0; }
  // Nobody meets in the group's place from now on.
  void Retire(const LeaveNodeGroup& leave);
  // Nobody need wait for this member at that number.
  void Pass(const PassNode& pass);

  // What is to be logged since this was asked last.
  std::optional<std::string> TakeNews() { return std::exchange(news_, std::nullopt); }

 private:
  // The group's place; null where there is none, or not yet.
  std::shared_ptr<Place> Find(const NodeGroup& group);
  bool IsReady();
  std::string CallsAlone(absl::string_view why) const;

  const MeetingTimes times_;
  EnterNode node_;
  std::shared_ptr<NodeSegment> segment_;
  SteadyTime entered_;
  bool told_ = false;  // that somebody is missing
  std::optional<std::string> news_;
  std::map<uint64_t, std::shared_ptr<Place>> places_;  // by the group's name; null: no room
  std::set<uint64_t> retired_;  // names whose slots are used up; as few as the segment has groups
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_NODE_MEETINGS_H_
