// An agreed stop: asked for by one, and known to all at one and the same collective.

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"

namespace muster::core {

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member, const StopRequest&) {
  if (!epoch_ || !member->rank()) {
    return absl::FailedPreconditionError(absl::StrCat(member->who(), " has not joined the job"));
  }
  if (!stop_asked_) Log(Severity::kInfo, absl::StrCat(member->who(), " asks all ranks to stop"));
  AskStop();
  Respond(id);
  return absl::OkStatus();
}

// The next collective of the world that completes tells it.
void Coordinator::Impl::AskStop() {
  stop_asked_ = true;
  if (epoch_) epoch_->AskStop();
}

// A member has seen the stop. One that has completed a collective without it needs
// no mention: whatever completes from now on comes later.
void Coordinator::Impl::ApplyStopClaim(const Claim& claim) {
  if (!claim.stop_sequence) return;
  AskStop();
  const absl::StatusOr<CollectiveGroup*> world = FindGroup(GroupName(), 0);
  if (world.ok()) (*world)->ObserveStop(*claim.stop_sequence);
}

}  // namespace muster::core
