#ifndef MUSTER_CLIENT_SRC_PROTOCOL_COLLECTIVE_CALLS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_COLLECTIVE_CALLS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/base/deadline.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/attach_stream.h"
#include "client/src/protocol/group_release_reporter.h"
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/member_lifecycle.h"
#include "client/src/protocol/messages/collective_call.h"
#include "client/src/protocol/messages/group_id.h"
#include "client/src/protocol/messages/session_state.h"
#include "client/src/protocol/node_fan_in.h"
#include "client/src/protocol/pending_calls.h"

namespace muster::internal {

// The collectives of a member, one at a time in each group. Pure: no I/O, no threads, no clock.
class CollectiveCalls {
 public:
  CollectiveCalls(const SessionState& session, const AttachStream& stream, MemberEpochs* epochs,
                  MemberLifecycle* lifecycle, PendingCalls* calls, GroupReleaseReporter* releases,
                  NodeFanIn* fan_in);
  CollectiveCalls(const CollectiveCalls&) = delete;
  CollectiveCalls& operator=(const CollectiveCalls&) = delete;

  // Begins the next collective of the group. If it returns an error, no call begins: see
  // CollectiveSequence::Begin().
  absl::Status Begin(SteadyTime now, CallId id, const GroupId& group, CollectiveCall call,
                     const Deadline& deadline);
  // Marks a group as finished: its collectives can no longer succeed.
  void TakeFinish(const v1::GroupFinished& finished);
  // Sends the arrival of the last completed collective again, for a restarted coordinator that
  // needs it.
  void Contribute(SteadyTime now, const v1::NeedContribution& need);

 private:
  void Finish(const PendingCall& call, absl::StatusOr<Response>* reply);
  bool NoArrivalCounted(const MemberGroup& group, const absl::Status& refusal) const;

  const SessionState& session_;
  const AttachStream& stream_;
  MemberEpochs& epochs_;
  MemberLifecycle& lifecycle_;
  PendingCalls& calls_;
  GroupReleaseReporter& releases_;
  NodeFanIn& fan_in_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_COLLECTIVE_CALLS_H_
