// Rejoin: the way of a survivor from a broken epoch into the next one.

#include "absl/strings/str_cat.h"
#include "server/core/api/validation.h"
#include "server/core/members/membership.h"

namespace muster::core {

absl::Status Membership::CheckContent(const Member& member, const RejoinRequest& request) const {
  return CheckClaim(member.identity, request.claim, job_.options.limits, job_.now);
}

absl::Status Membership::CheckRejoin(const Member& member, const RejoinRequest& request) const {
  if (!job_.elastic()) {
    return absl::FailedPreconditionError(
        "the job is not elastic, so Rejoin() cannot follow a loss: start the job again, or make it "
        "elastic (musterd --min-world-size)");
  }
  if (!request.claim.epoch) {
    return absl::InvalidArgumentError("the claim names no epoch to leave");
  }
  if (!epoch() || !member.rank()) {
    return absl::FailedPreconditionError(
        absl::StrCat(member.Describe(), " has not joined the job; call Join"));
  }
  if (life_.state() == JobState::kFailed) {
    return absl::FailedPreconditionError(absl::StrCat("the job has failed: ", life_.reason()));
  }
  if (life_.state() == JobState::kFinished || member.gone() || member.leaving()) {
    return absl::FailedPreconditionError(absl::StrCat(member.Describe(), " has called Leave"));
  }
  if (request.claim.epoch->number > epoch()->id().number) {
    return absl::AbortedError(absl::StrCat("epoch ", request.claim.epoch->number,
                                           " is unknown to this coordinator, which is in epoch ",
                                           epoch()->id().number));
  }
  return calls_.CanPark(member);
}

absl::Status Membership::Serve(WaiterId id, Member* member, const RejoinRequest& request) {
  if (absl::Status s = CheckRejoin(*member, request); !s.ok()) return s;
  ObserveNumbers(request.claim);
  const bool earlier = !(*request.claim.epoch == epoch()->id());
  if (earlier && !epoch()->broken()) {  // the answer that told it of its place was lost
    calls_.Respond(id, epoch()->PlaceOf(*member->rank(), life_.history()));
    return absl::OkStatus();
  }
  if (absl::Status s = joining_.CheckAttempt(*member, request.call); !s.ok()) return s;
  if (!epoch()->broken()) {
    BreakEpoch(absl::StrCat(member->Describe(), " asked for a new epoch; call Rejoin to be in it"));
  }
  joining_.SeekPlace(id, member, request.call, PlacementConstraints(), /*rejoins=*/true);
  job_.Log(Severity::kInfo, absl::StrCat(member->Describe(), " rejoins"), "rejoin");
  return absl::OkStatus();
}

void Membership::ObserveNumbers(const Claim& claim) {
  life_.ObserveEpochNumber(claim.highest_epoch);
  leases_.ObserveToken(claim.highest_token);
}

}  // namespace muster::core
