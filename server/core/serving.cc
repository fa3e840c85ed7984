// Calls that concern several parts of the coordinator.

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/validation.h"

namespace muster::core {

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member, const StopRequest&) {
  if (!epoch() || !member->rank()) {
    return absl::FailedPreconditionError(absl::StrCat(member->who(), " has not joined the job"));
  }
  if (!life_.stop_asked())
    job_.Log(Severity::kInfo, absl::StrCat(member->who(), " asks all ranks to stop"));
  life_.AskStop();
  calls_.Respond(id);
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member, const RejoinRequest& request) {
  if (absl::Status s = forming_.CheckRejoin(*member, request); !s.ok()) return s;
  recovery_.ObserveNumbers(request.claim);
  const bool earlier = !(*request.claim.epoch == epoch()->id());
  if (earlier && !epoch()->broken()) {  // the answer that told it of its place was lost
    calls_.Respond(id, epoch()->PlaceOf(*member->rank(), life_.history()));
    return absl::OkStatus();
  }
  if (absl::Status s = joining_.CheckAttempt(*member, request.call); !s.ok()) return s;
  if (!epoch()->broken()) {
    membership_.BreakEpoch(
        absl::StrCat(member->who(), " asked for a new epoch; call Rejoin to be in it"));
  }
  joining_.SeekPlace(id, member, request.call, PlaceWish(), /*rejoins=*/true);
  job_.Log(Severity::kInfo, absl::StrCat(member->who(), " rejoins"), "rejoin");
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::CheckContent(const Member& member,
                                             const RejoinRequest& request) const {
  return CheckClaim(member.identity, request.claim, job_.options.limits, job_.now);
}

}  // namespace muster::core
