#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_FAN_IN_DRIVER_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_FAN_IN_DRIVER_H_

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
#include "client/src/node/fan_in_round.h"
#include "client/src/node/futex.h"
#include "client/src/node/segment.h"
#include "client/src/protocol/messages/member_effects.h"

namespace muster::internal {

// Carries out one member's node fan-in (client/src/node) in the latest epoch that it has entered.
// Owns the shared memory, and a GroupRounds for each group. Not thread-safe, except for
// GroupRounds::round, which belongs to the thread that has begun it. Tests:
// tests/client/control_plane/node_driver_test.cc.
class FanInDriver {
 public:
  // This member's rounds in one group, one at a time.
  struct GroupRounds {
    GroupRounds(std::shared_ptr<NodeSegment> s, SharedGroup memory, const NodeGroup& group,
                uint32_t self, const FanInTimes& times)
        : segment(std::move(s)),
          slots(std::move(memory), group.members, self),
          round(&slots, times) {}

    const std::shared_ptr<NodeSegment> segment;  // keeps the memory mapped
    FanInSlots<SharedFutex> slots;
    FanInRound<SharedFutex> round;
    uint64_t attempt = 0;  // of the round in progress; 0 if there is none
  };

  explicit FanInDriver(const FanInTimes& times) : times_(times) {}
  const FanInTimes& times() const { return times_; }

  // Maps the epoch's segment, for Enter(). Opens files, so do not call it under a lock.
  static absl::StatusOr<std::unique_ptr<NodeSegment>> Open(const EnterNode& enter);
  // Enters the epoch. Without a segment, each member makes its own calls. That is no error, only a
  // line for the log.
  void Enter(const EnterNode& enter, absl::StatusOr<std::unique_ptr<NodeSegment>> segment);

  // Posts the arrival. The caller then runs GroupRounds::round.Run(), which blocks, and calls
  // End(). Returns null if fan-in is not possible now: the member then makes its own call.
  std::shared_ptr<GroupRounds> Begin(const StartFanIn& start);
  // Revokes the arrival, so that Run() ends soon. No effect if it has ended.
  void Leave(uint64_t attempt);
  void End(GroupRounds* place) { place->attempt = 0; }
  // Stops using the slots of a closed group.
  void Retire(const RetireFanInGroup& leave);
  // Marks that this member makes its own call at this number, so that no member waits for it.
  void Skip(const SkipFanIn& skip);

  // Returns the line to log since the last call, if any.
  std::optional<std::string> TakeLogLine() { return std::exchange(log_line_, std::nullopt); }

 private:
  // Returns the rounds of the group, or null if fan-in is not possible now.
  std::shared_ptr<GroupRounds> Find(const NodeGroup& group);
  bool IsReady();
  std::string SeparateCallsLine(absl::string_view why) const;

  const FanInTimes times_;
  EnterNode node_;
  std::shared_ptr<NodeSegment> segment_;
  SteadyTime entered_;
  bool missing_logged_ = false;  // logged that members are missing
  std::optional<std::string> log_line_;
  // By the group's name; null if the segment has no room.
  std::map<uint64_t, std::shared_ptr<GroupRounds>> groups_;
  // Names whose slots must not be used again; at most as many as the segment has groups.
  std::set<uint64_t> retired_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_FAN_IN_DRIVER_H_
