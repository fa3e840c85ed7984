#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_CORE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_CORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/base/steady_clock.h"
#include "client/src/node/fan_in_round.h"
#include "client/src/protocol/attach_stream.h"
#include "client/src/protocol/collective_calls.h"
#include "client/src/protocol/commit_reporter.h"
#include "client/src/protocol/group_release_reporter.h"
#include "client/src/protocol/groups/lease_records.h"
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/join_calls.h"
#include "client/src/protocol/lease_calls.h"
#include "client/src/protocol/member_lifecycle.h"
#include "client/src/protocol/messages/collective_call.h"
#include "client/src/protocol/messages/group_id.h"
#include "client/src/protocol/messages/member_effects.h"
#include "client/src/protocol/messages/member_options.h"
#include "client/src/protocol/messages/member_outbox.h"
#include "client/src/protocol/messages/session_state.h"
#include "client/src/protocol/node_fan_in.h"
#include "client/src/protocol/pending_calls.h"
#include "muster/job_options.h"

namespace muster::internal {

// Every decision of one member of a job, as a state machine. Calls of the program, answers of the
// network and the time go in; effects come out (effects.h):
//
//   Effects effects = core.Collective(now, id, group, call, deadline);  // SendCall, ...
//   ... carry out effects.outputs in order ...
//   effects = core.OnReply(now, attempt, status, response);  // a Completion of `id`, ...
//
// It attaches and reattaches, stamps and retries calls, drops replies that no longer count, and
// ends each call exactly once. MemberDriver (client/src/control_plane) is its only caller besides
// tests and the simulation.
//
// The core has no I/O, threads, clock or logging, and must not include gRPC. Not thread-safe: the
// caller serializes the steps. `now` must not go back. Tests: tests/client/member_core_*test.cc and
// tests/simulation.
class MemberCore {
 public:
  explicit MemberCore(MemberOptions options);
  MemberCore(const MemberCore&) = delete;
  MemberCore& operator=(const MemberCore&) = delete;

  // Attaches. The first step.
  Effects Start(SteadyTime now);

  // ---- Calls of the program ----
  // Each of these ends with exactly one Completion, in this step or a later one. Its errors are the
  // coordinator's, those of the public headers, and
  //   ABORTED            the call's epoch is broken (an ABORTED of the coordinator breaks it);
  //   CANCELLED          by Cancel() or Stop();
  //   DEADLINE_EXCEEDED  the time-out has passed, and the coordinator could not be asked what was
  //                      missing;
  //   UNAVAILABLE        the coordinator could not be reached for coordinator_timeout, which also
  //                      ends the call's epoch.

  // Asks for a place in the job, which the JoinResponse names. Rejoin() leads from `epoch`, which
  // must be the latest, into the next one, and completes with a JoinResponse too.
  Effects Join(SteadyTime now, CallId id, const JobOptions& options, const Deadline& deadline);
  Effects Rejoin(SteadyTime now, CallId id, const EpochId& epoch, const Deadline& deadline);
  Effects Collective(SteadyTime now, CallId id, const GroupId& group, CollectiveCall call,
                     const Deadline& deadline);
  Effects AcquireLease(SteadyTime now, CallId id, const EpochId& epoch, const LeaseId& lease,
                       const Deadline& deadline);
  Effects CompleteLease(SteadyTime now, CallId id, const EpochId& epoch, const LeaseId& lease,
                        uint64_t token, const absl::StatusOr<std::string>& outcome);
  Effects RequestStop(SteadyTime now, CallId id, const EpochId& epoch, const Deadline& deadline);
  Effects Leave(SteadyTime now, CallId id, const EpochId& epoch, const Deadline& deadline);

  // Gives up a held lease. Completes no call.
  Effects ReleaseLease(SteadyTime now, const EpochId& epoch, const LeaseId& lease, uint64_t token);
  // Adds or drops a handle of the group, which is not the world. A group without a handle and
  // without a call in progress is forgotten when all ranks have released it.
  void Hold(const GroupId& group) { epochs_.Hold(group); }
  Effects Drop(SteadyTime now, const GroupId& group);
  // Cancels this call. Ignores unknown ids.
  Effects Cancel(SteadyTime now, CallId id);
  // Ends every call, the stream and every epoch. Only network events may follow.
  Effects Stop(SteadyTime now);
  // Forgets an epoch that has no users any more. No effect on the latest one.
  void Forget(const EpochId& epoch) { epochs_.Forget(epoch); }

  // ---- Node fan-in ----
  // Applies the end of a round. `attempt` is the attempt of its StartFanIn. No effect if the
  // member has left the round.
  Effects OnFanInEnd(SteadyTime now, uint64_t attempt, const FanInEnd& end);
  // Returns the result with which this member completes the collective of that round on the node,
  // for FanInRound, or nullopt if it must send the batch.
  std::optional<Delivery> CompleteOnNode(uint64_t attempt, const std::vector<TakenPart>& parts) {
    return fan_in_.Complete(attempt, parts);
  }
  // Sends the batch that this member took in that round, its own arrival first, as one call that
  // waits for at most `patience`. Ends with exactly one Completion, whose reply is for
  // DeliveryOf(). The reply is an error if the member has left the round or leaves it meanwhile,
  // or if the answer does not count.
  Effects SendForNode(SteadyTime now, CallId id, uint64_t attempt,
                      const std::vector<TakenPart>& parts, absl::Duration patience);

  // ---- Events of the network ----
  // Events of an older session, or of a send that no longer counts, change nothing.
  Effects OnReply(SteadyTime now, uint64_t attempt, const absl::Status& status, Response response);
  Effects OnStreamResponse(SteadyTime now, uint64_t attempt, const v1::AttachResponse& response);
  Effects OnStreamEnd(SteadyTime now, uint64_t attempt, const absl::Status& status);

  // Does what is due. Call it at NextDeadline(); other times do no harm.
  Effects Tick(SteadyTime now);
  // Returns when Tick() has something to do next, or SteadyTime::max().
  SteadyTime NextDeadline() const;

  // Returns OK, or the error that every call of that epoch ends with.
  absl::Status HealthOf(const EpochId& epoch) const { return lifecycle_.HealthOf(epoch); }
  // Returns whether a collective of the world has reported a stop request, in the latest epoch.
  bool StopRequested(const EpochId& epoch) const;
  // Returns how many processes wait for a place that the next epoch would have.
  int NewcomersWaiting(const EpochId& epoch) const;
  // Returns when the loss of a member that vanished at `since` will be known, by the graces that
  // the coordinator announced. Returns SteadyTime::max() without a session, because then this
  // process learns of no loss.
  SteadyTime LossKnownBy(SteadyTime since) const { return stream_.LossKnownBy(since); }
  // Returns the member's epochs and groups, for tests.
  const MemberEpochs& epochs() const { return epochs_; }
  // Returns the coordinator's limits. Valid once joined.
  const v1::Limits& limits() const { return stream_.limits(); }

 private:
  void FinishLeave(const PendingCall& call, absl::StatusOr<Response>* reply);

  // Ends a step: advances every call as far as possible. Returns all effects of the step.
  Effects Settle(SteadyTime now);
  // Settles if a call has begun; otherwise ends it with this error.
  Effects SettleOrRefuse(SteadyTime now, CallId id, const absl::Status& begun);

  void Reattach(SteadyTime now);
  // Attaches again if that is due. A claim waits until all rounds were left: one of them may have
  // completed its collective.
  void ReattachIfDue(SteadyTime now);
  void AttachWithRoster(SteadyTime now, const v1::NeedRoster& need);
  // Returns everything that a restarted coordinator must learn from this member.
  v1::Claim NewClaim(SteadyTime now) const;
  void TakeEvent(SteadyTime now, const v1::AttachResponse& response);
  void TakeNewcomers(const v1::NewcomersWaiting& newcomers);

  // In order of construction: each refers only to members above it.
  const MemberOptions options_;
  MemberOutbox outbox_;
  MemberEpochs epochs_;
  SessionState session_;
  MemberLifecycle lifecycle_;
  AttachStream stream_;
  PendingCalls calls_;
  LeaseCalls leases_;
  GroupReleaseReporter releases_;
  CommitReporter commits_;
  NodeFanIn fan_in_;
  CollectiveCalls collectives_;
  JoinCalls joins_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_CORE_H_
