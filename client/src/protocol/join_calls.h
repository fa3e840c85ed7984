#ifndef MUSTER_CLIENT_SRC_PROTOCOL_JOIN_CALLS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_JOIN_CALLS_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/base/deadline.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/group_release_reporter.h"
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/member_lifecycle.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "client/src/protocol/messages/member_options.h"
#include "client/src/protocol/messages/member_outbox.h"
#include "client/src/protocol/node_fan_in.h"
#include "client/src/protocol/pending_calls.h"
#include "muster/job_options.h"

namespace muster::internal {

// The calls by which a member gets a place in an epoch: Join for its first one, Rejoin for later
// ones. Pure: no I/O, no threads, no clock.
class JoinCalls {
 public:
  JoinCalls(const MemberOptions& options, MemberEpochs* epochs, MemberLifecycle* lifecycle,
            PendingCalls* calls, GroupReleaseReporter* releases, CommitReporter* commits,
            NodeFanIn* fan_in, MemberOutbox* outbox);
  JoinCalls(const JoinCalls&) = delete;
  JoinCalls& operator=(const JoinCalls&) = delete;

  void Join(SteadyTime now, CallId id, const JobOptions& options, const Deadline& deadline);
  // Begins to rejoin. `claim` makes the claim of each send. Returns FAILED_PRECONDITION, and no
  // call begins, if another Rejoin leaves this epoch or has left it.
  absl::Status Rejoin(SteadyTime now, CallId id, const EpochId& epoch, const Deadline& deadline,
                      std::function<v1::Claim(SteadyTime now)> claim);

 private:
  void FinishJoin(const PendingCall& call, absl::StatusOr<Response>* reply);
  void FinishRejoin(const PendingCall& call, absl::StatusOr<Response>* reply);
  void TakePlace(const PendingCall& call, absl::StatusOr<Response>* reply);

  const MemberOptions& options_;
  MemberEpochs& epochs_;
  MemberLifecycle& lifecycle_;
  PendingCalls& calls_;
  GroupReleaseReporter& releases_;
  CommitReporter& commits_;
  NodeFanIn& fan_in_;
  MemberOutbox& outbox_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_JOIN_CALLS_H_
