// Leave: a member's part in the job ends once no other member needs anything from it.

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/job/member_state.h"
#include "server/core/members/membership.h"

namespace muster::core {

absl::Status Membership::Serve(WaiterId id, Member* member, const LeaveRequest& request) {
  if (!epoch() || !member->rank()) {
    return absl::FailedPreconditionError(
        absl::StrCat(member->Describe(), " has not joined the job"));
  }
  if (!(request.epoch == epoch()->id())) {
    return absl::AbortedError(absl::StrCat("epoch ", request.epoch.number,
                                           " is not the current one, ", epoch()->id().number));
  }
  if (!member->left() && epoch()->broken()) MarkLeft(member);  // it needs nothing of a broken epoch
  if (member->left()) {
    calls_.Respond(id);
    return absl::OkStatus();
  }
  if (absl::Status s = calls_.CanPark(*member); !s.ok()) return s;
  calls_.Finish(calls_.parked().LeaveOf(*member),
                absl::CancelledError("replaced by a later send of the same call"));
  calls_.Park(id, member, WaitForLeavers(), request.call, Calls::MakeDescription("Leave"));
  StartLeaving(member);
  return absl::OkStatus();
}

void Membership::StartLeaving(Member* member) {
  if (member->leaving()) return;
  members_.StartLeaving(member);
  leave_stall_.Restart(job_.now);
  job_.Log(Severity::kDebug, absl::StrCat(member->Describe(), " is leaving"));
  ReleaseForLeaving(member);
}

// Ends what others would wait for in vain: collectives that lack the leaver's arrival, and leases
// that it holds.
void Membership::ReleaseForLeaving(Member* leaver) {
  groups_.FailFor(*leaver);
  for (WaiterId id : calls_.parked().CallsOf(*leaver)) {
    const WaitReason& wait = calls_.parked().Find(id)->wait;
    if (std::holds_alternative<WaitForLeavers>(wait) ||
        std::holds_alternative<WaitForRecovery>(wait)) {
      continue;
    }
    Withdraw(id);
    calls_.Finish(
        id, absl::FailedPreconditionError(absl::StrCat(leaver->Describe(), " has called Leave")));
  }
  leases_.Forget(*leaver);
}

void Membership::MarkLeft(Member* member) {
  members_.MarkLeft(member);
  joining_.NoteChange();
  leases_.Forget(*member);
  calls_.Finish(calls_.parked().LeaveOf(*member), absl::OkStatus());
  joining_.RefuseCandidate(
      member, absl::FailedPreconditionError(absl::StrCat(member->Describe(), " has called Leave")));
}

absl::Status Membership::DescribeTimeout(const ParkedCall& call, const WaitForLeavers&) const {
  std::vector<uint32_t> staying;
  for (const Member* member : epoch()->members()) {
    if (!member->leaving() && !member->lost()) staying.push_back(*member->rank());
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "Leave waited ", DescribeDuration(call.timeout), "; not leaving yet: ",
      DescribeMembers(*epoch(), staying, job_.now), "; this process now counts as lost"));
}

bool Membership::TryFinish() {
  const bool runs = life_.ReportedState() == JobState::kRunning;
  if (!runs || members_.counts().staying > 0) return false;
  life_.Finish("every member has left");
  job_.Log(Severity::kInfo, absl::StrCat("the job is finished: ", life_.reason()));
  life_.LogStragglers();
  for (Member* member : epoch()->members()) {
    if (!member->lost()) MarkLeft(member);
  }
  joining_.RefuseCandidates(absl::FailedPreconditionError(
      "the job is finished: its members have left; another run needs a musterd of its own"));
  return true;
}

}  // namespace muster::core
