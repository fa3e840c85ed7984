#ifndef MUSTER_CLIENT_SRC_PROTOCOL_NODE_FAN_IN_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_NODE_FAN_IN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/base/steady_clock.h"
#include "client/src/node/fan_in_round.h"
#include "client/src/protocol/attach_stream.h"
#include "client/src/protocol/commit_reporter.h"
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/member_lifecycle.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "client/src/protocol/messages/member_effects.h"
#include "client/src/protocol/messages/member_options.h"
#include "client/src/protocol/messages/member_outbox.h"
#include "client/src/protocol/messages/session_state.h"
#include "client/src/protocol/pending_calls.h"

namespace muster::internal {

// Node fan-in: collectives whose arrivals one member sends for several members of the node
// (docs/node-fan-in.md). Pure: no I/O, no threads, no clock.
class NodeFanIn {
 public:
  NodeFanIn(const MemberOptions& options, const MemberEpochs& epochs, const SessionState& session,
            const MemberLifecycle& lifecycle, const AttachStream& stream, PendingCalls* calls,
            CommitReporter* commits, MemberOutbox* outbox);
  NodeFanIn(const NodeFanIn&) = delete;
  NodeFanIn& operator=(const NodeFanIn&) = delete;

  // Enters the segment of the latest epoch on this node, if other members are there.
  void Enter();

  // Posts the arrival of a collective whose stamp is in flight. Returns false if the collective
  // does not use fan-in: the caller then sends the call.
  bool StartRound(SteadyTime now, CallId id, PendingCall* call);
  // See MemberCore::OnFanInEnd(), MemberCore::CompleteOnNode() and MemberCore::SendForNode(). If
  // Send() returns an error, no call begins.
  void TakeFanInEnd(SteadyTime now, uint64_t attempt, const FanInEnd& end);
  std::optional<Delivery> Complete(uint64_t attempt, const std::vector<TakenPart>& parts);
  absl::Status Send(SteadyTime now, CallId id, uint64_t attempt,
                    const std::vector<TakenPart>& parts, absl::Duration patience);

  // Withdraws an arrival of a collective that the program gave up, if another member may still send
  // it.
  void WithdrawArrival(SteadyTime now, const EpochId& epoch,
                       const std::shared_ptr<MemberGroup>& group);

 private:
  // Returns the ranks of the group in its order, also for the world.
  std::vector<int> RanksOf(const MemberGroup& group) const;
  // Returns whether a sender may complete the group's next collective with this member's part.
  bool MayCommit(const MemberGroup& group, size_t size) const;
  bool is_on() const { return options_.node_fanin && stream_.node_collectives(); }
  // Returns the answer to this member's own call, or nullopt if the round brought none.
  std::optional<Response> AnswerTo(const PendingCall& call, const FanInEnd& end) const;

  const MemberOptions& options_;
  const MemberEpochs& epochs_;
  const SessionState& session_;
  const MemberLifecycle& lifecycle_;
  const AttachStream& stream_;
  PendingCalls& calls_;
  CommitReporter& commits_;
  MemberOutbox& outbox_;

  // Reports of the collectives that this member may have completed as a sender, by the attempts of
  // its rounds.
  std::map<uint64_t, v1::NodeCommit> committing_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_NODE_FAN_IN_H_
