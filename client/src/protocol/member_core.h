#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_CORE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_CORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/base/steady_clock.h"
#include "client/src/node/meeting.h"
#include "client/src/protocol/attach_stream.h"
#include "client/src/protocol/collective_call.h"
#include "client/src/protocol/collective_calls.h"
#include "client/src/protocol/effects.h"
#include "client/src/protocol/group_id.h"
#include "client/src/protocol/group_releases.h"
#include "client/src/protocol/join_calls.h"
#include "client/src/protocol/lease_calls.h"
#include "client/src/protocol/lease_ledger.h"
#include "client/src/protocol/lifecycle.h"
#include "client/src/protocol/member_options.h"
#include "client/src/protocol/membership.h"
#include "client/src/protocol/node_fan_in.h"
#include "client/src/protocol/outbox.h"
#include "client/src/protocol/pending_calls.h"
#include "client/src/protocol/session_state.h"
#include "muster/job_options.h"

namespace muster::internal {

// Every decision of one member of a job, as a state machine without I/O, threads or clock: what the
// program and the coordinator do goes in, together with the time, and effects come out. Attaches,
// attaches again, stamps and repeats calls, drops replies that do not count, and ends each call
// exactly once.
//
// Not thread-safe: the caller serializes the steps. `now` must not go back.
class MemberCore {
 public:
  explicit MemberCore(MemberOptions options);
  MemberCore(const MemberCore&) = delete;
  MemberCore& operator=(const MemberCore&) = delete;

  // The first step: attaches.
  Effects Start(SteadyTime now);

  // ---- The program calls ----
  // Each of these ends with exactly one Completion, in this step or a later one. Errors are the
  // coordinator's, those of the public headers, and
  //   ABORTED            the epoch of the call is broken; an ABORTED of the coordinator breaks it;
  //   CANCELLED          by Cancel() or Stop();
  //   DEADLINE_EXCEEDED  the time-out has passed, and the coordinator could not be asked what was
  //                      missing;
  //   UNAVAILABLE        the coordinator could not be reached for coordinator_timeout, which ends
  //                      the epoch of the call too.

  // Registers and asks for a place; its JoinResponse names one. So does that of Rejoin(), which
  // leads from this epoch, the latest, into the next one.
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

  // Gives a held lease up. Nobody waits for it.
  Effects ReleaseLease(SteadyTime now, const EpochId& epoch, const LeaseId& lease, uint64_t token);
  // The program has one more handle of the group, which is not the world, or one less. Groups
  // without a handle and without a call in progress are forgotten when all ranks have let them go.
  void Hold(const GroupId& group) { membership_.Hold(group); }
  Effects Drop(SteadyTime now, const GroupId& group);
  // The program does not wait for this call any longer. Unknown ids are ignored.
  Effects Cancel(SteadyTime now, CallId id);
  // The last step but for what the network still says: ends every call, the stream, and every
  // epoch.
  Effects Stop(SteadyTime now);
  // Nobody asks for this epoch any more. No effect on the latest one.
  void Forget(const EpochId& epoch) { membership_.Forget(epoch); }

  // ---- Other members of the node ----
  // How a meeting has ended, named by the attempt of its MeetAtNode. Changes nothing where it was
  // left before.
  Effects OnMet(SteadyTime now, uint64_t attempt, const MeetingEnd& end);
  // Sends what this member has taken in that meeting, its own arrival first, as one call that waits
  // at most so long. Ends with exactly one Completion: see DeliveryOf(). An error where the meeting
  // was left or is left meanwhile, or the answer does not count.
  Effects SendForNode(SteadyTime now, CallId id, uint64_t attempt,
                      const std::vector<TakenPart>& parts, absl::Duration patience);

  // ---- The network answers ----
  // What does not belong to the current session, or to a send that still counts, changes nothing.
  Effects OnReply(SteadyTime now, uint64_t attempt, const absl::Status& status, Response response);
  Effects OnStreamResponse(SteadyTime now, uint64_t attempt, const v1::AttachResponse& response);
  Effects OnStreamEnd(SteadyTime now, uint64_t attempt, const absl::Status& status);

  // Does what is due: call at NextDeadline(), or at any time.
  Effects Tick(SteadyTime now);
  // When Tick() has something to do next; SteadyTime::max() if nothing is due.
  SteadyTime NextDeadline() const;

  // OK, or the error that every call of that epoch ends with.
  absl::Status HealthOf(const EpochId& epoch) const { return lifecycle_.HealthOf(epoch); }
  // Whether a collective of the world has said that a stop was asked for, in the latest epoch.
  bool StopRequested(const EpochId& epoch) const;
  // Number of processes that wait for a place which the next epoch would have.
  int NewcomersWaiting(const EpochId& epoch) const;
  // When a member that was gone at `since` is known to be lost, by what the coordinator has said of
  // its graces. SteadyTime::max() while there is no session: nobody can tell.
  SteadyTime LossKnownBy(SteadyTime since) const { return stream_.LossKnownBy(since); }
  // As announced by the coordinator; valid once joined.
  const v1::Limits& limits() const { return stream_.limits(); }

 private:
  void FinishLeave(const PendingCall& call, absl::StatusOr<Response>* reply);

  // Moves every call on as far as it gets now, and returns what that and the step before asked for.
  Effects Settle(SteadyTime now);
  // The same if a call has begun; else ends it with this error.
  Effects SettleOrRefuse(SteadyTime now, CallId id, const absl::Status& begun);

  void Reattach(SteadyTime now);
  void AttachWithRoster(SteadyTime now, const v1::NeedRoster& need);
  // All that a coordinator which was started anew must learn from this member.
  v1::Claim NewClaim(SteadyTime now) const;
  void TakeEvent(SteadyTime now, const v1::AttachResponse& response);
  void TakeNewcomers(const v1::NewcomersWaiting& newcomers);

  // Each refers only to those above it.
  const MemberOptions options_;
  Outbox outbox_;
  Membership membership_;
  SessionState session_;
  Lifecycle lifecycle_;
  AttachStream stream_;
  PendingCalls calls_;
  LeaseCalls leases_;
  GroupReleases releases_;
  NodeFanIn fan_in_;
  CollectiveCalls collectives_;
  JoinCalls joins_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_CORE_H_
