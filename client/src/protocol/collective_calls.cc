#include "client/src/protocol/collective_calls.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/protocol/messages/messages.h"
#include "client/src/protocol/messages/named_members.h"

namespace muster::internal {

CollectiveCalls::CollectiveCalls(const SessionState& session, const AttachStream& stream,
                                 MemberEpochs* epochs, MemberLifecycle* lifecycle,
                                 PendingCalls* calls, GroupReleaseReporter* releases,
                                 NodeFanIn* fan_in)
    : session_(session),
      stream_(stream),
      epochs_(*epochs),
      lifecycle_(*lifecycle),
      calls_(*calls),
      releases_(*releases),
      fan_in_(*fan_in) {}

absl::Status CollectiveCalls::Begin(SteadyTime now, CallId id, const GroupId& group,
                                    CollectiveCall call, const Deadline& deadline) {
  const std::shared_ptr<MemberGroup> known = epochs_.GroupOf(group.name, group.ranks);
  const bool repeats = known->sequence.is_fixed();
  if (absl::Status status = known->sequence.Begin(std::move(call)); !status.ok()) return status;
  if (repeats) calls_.Drop(known->arrivals.EndWithdrawal());
  if (known->release.is_past()) known->arrivals.MayBeReleased();
  known->release.Retain();
  PendingCall pending(known->sequence.Describe(), deadline, now);
  pending.after = known->arrivals.withdrawal();
  pending.epoch = group.epoch;
  pending.group = known;
  // The sequence keeps the call's content unchanged until End().
  pending.request = [this, epoch = group.epoch, known](SteadyTime) {
    return MakeCollective(epoch, known->name, known->RanksToName(session_.session()),
                          known->sequence.number(), known->sequence.refusals(),
                          known->sequence.call());
  };
  pending.blocked_by = [this](SteadyTime at, const MemberGroup& called) {
    return releases_.BlockedBy(at, called);
  };
  pending.start_round = [this](SteadyTime at, CallId call_id, PendingCall* sent) {
    return fan_in_.StartRound(at, call_id, sent);
  };
  pending.on_end = [this](const PendingCall& ended, auto* reply) { Finish(ended, reply); };
  calls_.Begin(id, std::move(pending));
  return absl::OkStatus();
}

void CollectiveCalls::Finish(const PendingCall& call, absl::StatusOr<Response>* reply) {
  CollectiveSequence& sequence = call.group->sequence;
  GroupArrivals& arrivals = call.group->arrivals;
  const bool of_world = call.group->is_world() && epochs_.IsIn(*call.epoch);
  if (of_world && reply->ok() && StopRequestedIn(**reply)) {
    epochs_.StopAgreed(sequence.number());
    lifecycle_.NoteStopRequest();
  }
  if (reply->ok()) arrivals.Completed(session_.session(), sequence.call().kind, **reply);
  const bool refused = call.answered && NothingRecorded(reply->status());
  // A daemon that has processed a later send of this number ignores earlier ones.
  const bool settled = call.answered && !refused;
  if (settled) arrivals.Settle();
  const bool no_send_counts = refused && NoArrivalCounted(*call.group, reply->status());
  if (no_send_counts && (sequence.is_fixed() || call.sends > 1)) {
    arrivals.MayComeLate(session_.session());
  }
  sequence.End(reply->status(), call.sends, no_send_counts);
  if (!settled) fan_in_.WithdrawArrival(call.ended, *call.epoch, call.group);
  // To the program, this is one more limit. Only the protocol distinguishes a refusal that all
  // ranks get.
  if (absl::IsOutOfRange(reply->status())) {
    *reply =
        Reworded(reply->status(), absl::StatusCode::kResourceExhausted, reply->status().message());
  }
}

// Returns whether no send of this number has counted, or ever will, after a refusal.
//   * INVALID_ARGUMENT: no daemon accepts malformed content, so no send counted.
//   * RESOURCE_EXHAUSTED from the daemon that got the first send: had an earlier send completed
//     there, it would have answered. But a daemon that was killed in between may have had room, and
//     may have completed the number for other ranks.
// A send that may still be on its way is withdrawn.
bool CollectiveCalls::NoArrivalCounted(const MemberGroup& group,
                                       const absl::Status& refusal) const {
  if (!stream_.node_collectives() || !group.arrivals.WasSent() || !session_.session()) return false;
  return absl::IsInvalidArgument(refusal) ||
         group.arrivals.WasSentFirstTo(session_.session()->daemon_instance);
}

void CollectiveCalls::TakeFinish(const v1::GroupFinished& finished) {
  if (!epochs_.IsIn(EpochOf(finished.epoch()))) return;
  const v1::Group& group = finished.group();
  const std::vector<int> ranks(group.ranks().begin(), group.ranks().end());
  const absl::Status why = absl::FailedPreconditionError(finished.reason());
  epochs_.GroupOf(group.name(), ranks)->sequence.Finish(WithNamedMembers(why, epochs_.place()));
}

void CollectiveCalls::Contribute(SteadyTime now, const v1::NeedContribution& need) {
  const EpochId epoch = EpochOf(need.epoch());
  const std::vector<int> ranks(need.group().ranks().begin(), need.group().ranks().end());
  const std::shared_ptr<MemberGroup> group = epochs_.FindGroup({epoch, need.group().name(), ranks});
  if (group == nullptr || !group->sequence.retained() ||
      group->sequence.number() != need.sequence() + 1) {
    return;
  }
  PendingCall call = calls_.NewInBackground(now, absl::StrCat("repeating op ", need.sequence()));
  call.epoch = epoch;
  call.group = group;
  call.only_in = session_.session();
  call.request = [need, ranks, content = *group->sequence.retained()](SteadyTime) {
    return MakeCollective(EpochOf(need.epoch()), need.group().name(), ranks, need.sequence(),
                          /*refusals=*/0, content);
  };
  calls_.BeginInBackground(std::move(call));
}

}  // namespace muster::internal
