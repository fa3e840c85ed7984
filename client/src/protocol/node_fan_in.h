#ifndef MUSTER_CLIENT_SRC_PROTOCOL_NODE_FAN_IN_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_NODE_FAN_IN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/base/steady_clock.h"
#include "client/src/node/meeting.h"
#include "client/src/protocol/attach_stream.h"
#include "client/src/protocol/effects.h"
#include "client/src/protocol/epoch_id.h"
#include "client/src/protocol/lifecycle.h"
#include "client/src/protocol/member_options.h"
#include "client/src/protocol/membership.h"
#include "client/src/protocol/outbox.h"
#include "client/src/protocol/pending_calls.h"
#include "client/src/protocol/session_state.h"

namespace muster::internal {

// Collectives by way of the node: arrivals that one member sends together with those of others
// (docs/node-fan-in.md). Pure: no I/O, no threads, no clock.
class NodeFanIn {
 public:
  NodeFanIn(const MemberOptions& options, const Membership& membership, const SessionState& session,
            const Lifecycle& lifecycle, const AttachStream& stream, PendingCalls* calls,
            Outbox* outbox);
  NodeFanIn(const NodeFanIn&) = delete;
  NodeFanIn& operator=(const NodeFanIn&) = delete;

  // The member has got a place: enters the segment of its epoch on its node.
  void Enter();

  // Posts the arrival of a collective, whose stamp is in flight. Returns false if the call is to be
  // sent: it does not go that way.
  bool Meet(SteadyTime now, CallId id, const PendingCall& call);
  // See MemberCore::OnMet() and MemberCore::SendForNode(). An error: no call begins.
  void TakeMeeting(SteadyTime now, uint64_t attempt, const MeetingEnd& end);
  absl::Status Send(SteadyTime now, CallId id, uint64_t attempt,
                    const std::vector<TakenPart>& parts, absl::Duration patience);

  // Takes back what others may still carry of a collective that the program has given up.
  void TakeBack(SteadyTime now, const EpochId& epoch, const std::shared_ptr<MemberGroup>& group);

 private:
  bool is_on() const { return options_.node_fanin && stream_.node_collectives(); }
  // What a meeting's answer is to this member's own call; nullopt if it is none.
  std::optional<Response> AnswerTo(const PendingCall& call, const MeetingEnd& end) const;

  const MemberOptions& options_;
  const Membership& membership_;
  const SessionState& session_;
  const Lifecycle& lifecycle_;
  const AttachStream& stream_;
  PendingCalls& calls_;
  Outbox& outbox_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_NODE_FAN_IN_H_
