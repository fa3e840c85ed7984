// What has become due: everything that one change of the state may make possible elsewhere.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {

void Coordinator::Impl::Advance() {
  if (job_.draining) return;
  while (AdvanceOnce()) {
  }
  newcomer_news_.Announce();
  recovery_.TellNewcomers();
}

// Each of these looks at a count, or at a deadline, before it looks at anybody: most steps change
// nothing here. What is done by one may be what another one waits for, so the first of them is
// asked again afterwards.
bool Coordinator::Impl::AdvanceOnce() {
  return membership_.TryLoseDetached() || attaching_.TryServeParked() ||
         recovery_.TryAskForRoster() || recovery_.TryDropOldRun() || recovery_.TryEnd() ||
         membership_.TryFinish() || TryResolveContenders() || TryLoseSilent() || TryForm() ||
         giving_up_.TryFail() || forming_.TryFail() || leases_.TryGrant() ||
         releases_.TryCloseMore() || ServeNextDeferred();
}

bool Coordinator::Impl::TryResolveContenders() {
  const std::optional<PlaceBook::Verdict> verdict = joining_.DecideContenders();
  if (!verdict) return false;
  Member* const contender = joining_.CandidateOf(verdict->contender);
  Member* const holder = joining_.CandidateOf(verdict->conflict.holder);
  if (verdict->displaces) {
    membership_.Lose({{holder, LossCause::kReplaced,
                       absl::StrCat("replaced by a newer process, ", contender->who())}});
  } else {
    joining_.RefuseCandidate(contender,
                             PlaceTaken(verdict->conflict.place, holder->who(), contender->who()));
  }
  return true;
}

bool Coordinator::Impl::TryLoseSilent() {
  std::vector<Membership::Loss> losses;
  for (Member* member : forming_.SilentSurvivors()) {
    losses.push_back({member, LossCause::kNotRejoined,
                      absl::StrCat("it did not call Rejoin within ",
                                   absl::FormatDuration(job_.options.rejoin_timeout))});
  }
  if (losses.empty()) return false;
  membership_.Lose(losses);
  return true;
}

bool Coordinator::Impl::TryForm() {
  const std::optional<Forming::Choice> choice = forming_.Choose();
  if (!choice) return false;
  if (!choice->forbidden.empty()) {
    forming_.Fail(choice->forbidden);
    return true;
  }
  const std::unique_ptr<Epoch> previous = forming_.Form(*choice);
  membership_.ForgetEarlyExits();
  giving_up_.Clear();
  if (previous) membership_.Retire(*previous);
  forming_.Announce(*choice);
  return true;
}

// Calls that came during the recovery are served as if they came now, one after the other.
bool Coordinator::Impl::ServeNextDeferred() {
  const std::optional<WaiterId> id = recovery_.PopDeferred();
  if (!id) return false;
  membership_.Withdraw(*id);
  const std::optional<ParkedCall> parked = calls_.Reopen(*id);
  if (!parked) return true;  // it was answered or withdrawn meanwhile
  const auto serve = [&](auto call) {
    // It may have arrived twice before it was given up.
    if (absl::Status s = calls_.CheckWanted(*parked->member, call.call); !s.ok()) return s;
    call.call.since = parked->since;
    return ServerOf(call).Serve(*id, parked->member, call);
  };
  const absl::Status served = std::visit(serve, *std::get<ForRecovery>(parked->wait).call);
  if (!served.ok()) calls_.Finish(*id, served);
  return true;
}

}  // namespace muster::core
