// Leave: nobody takes away what another still needs.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member, const LeaveRequest& request) {
  if (!epoch_ || !member->rank) {
    return absl::FailedPreconditionError(absl::StrCat(member->who(), " has not joined the job"));
  }
  if (!(request.epoch == epoch_->id)) {
    return absl::AbortedError(absl::StrCat("epoch ", request.epoch.number,
                                           " is not the current one, ", epoch_->id.number));
  }
  // It needs nothing of a broken epoch.
  if (!member->left && !epoch_->broken.ok()) MarkLeft(member);
  if (member->left) {
    Respond(id);
    FormationChanged();  // nobody waits for its Rejoin any more
    TryForm();
    return absl::OkStatus();
  }
  if (absl::Status s = CanPark(); !s.ok()) return s;
  if (member->leave_waiter != 0) {
    Finish(member->leave_waiter, absl::CancelledError("replaced by a later send of the same call"));
  }
  Park(id, Waiter(member, Waiter::Call::kLeave), request.call, "Leave");
  member->leave_waiter = id;
  StartLeaving(member);
  TryFinishLeaving();
  return absl::OkStatus();
}

void Coordinator::Impl::StartLeaving(Member* member) {
  if (member->leaving) return;
  member->leaving = true;
  ++epoch_->leavers;
  leave_stall_.Restart(now_);
  Log(Severity::kDebug, absl::StrCat(member->who(), " is leaving"));
  ReleaseForLeaving(member);
}

// Whoever waits for the leaver must not wait any longer: for its arrivals, and for the leases it
// holds.
void Coordinator::Impl::ReleaseForLeaving(Member* leaver) {
  FailCollectivesOf(leaver);
  for (WaiterId id : std::set<WaiterId>(leaver->parked)) {
    const Waiter::Call call = waiters_.at(id).call;
    if (id == leaver->leave_waiter || call == Waiter::Call::kPutOff) continue;
    Withdraw(id);
    Finish(id, absl::FailedPreconditionError(absl::StrCat(leaver->who(), " has called Leave")));
  }
  leases_.Forget(leaver->identity.incarnation);
  GrantLeases();
}

void Coordinator::Impl::TryFinishLeaving() {
  if (state_ != JobState::kRunning || recovering()) return;
  const auto done = [](const Member* m) { return m->leaving || m->left || m->lost.has_value(); };
  if (!std::all_of(epoch_->members.begin(), epoch_->members.end(), done)) return;
  state_ = JobState::kFinished;
  reason_ = "every member has left";
  Log(Severity::kInfo, absl::StrCat("the job is finished: ", reason_));
  for (Member* member : epoch_->members) {
    if (!member->lost) MarkLeft(member);
  }
  RefuseCandidates("the job is finished: its members have left");
}

// The member needs nothing more: its parked Leave succeeds, and its stream may end any time.
void Coordinator::Impl::MarkLeft(Member* member) {
  member->left = true;
  graces_.Clear(member->identity.incarnation);
  leases_.Forget(member->identity.incarnation);
  if (member->leave_waiter != 0) Finish(member->leave_waiter, absl::OkStatus());
  if (member->join_waiter == 0) return;
  const WaiterId rejoin = member->join_waiter;
  StopJoining(member);
  Finish(rejoin, absl::FailedPreconditionError(absl::StrCat(member->who(), " has called Leave")));
}

absl::Status Coordinator::Impl::LeaveTimeout(const Waiter& waiter) const {
  std::vector<uint32_t> staying;
  for (const Member* member : epoch_->members) {
    if (!member->leaving && !member->lost) staying.push_back(*member->rank);
  }
  std::string text = absl::StrCat("Leave waited ", HowLong(waiter.timeout),
                                  "; not leaving yet: ", DescribeMembers(staying));
  absl::StrAppend(&text, "; this process now counts as lost");
  return absl::DeadlineExceededError(text);
}

}  // namespace muster::core
