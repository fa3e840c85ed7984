// The part of a step that does what has become due: one change of the state may make others
// possible elsewhere.

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/coordinator_impl.h"

namespace muster::core {

void Coordinator::Impl::Advance() {
  if (job_.draining) return;
  while (AdvanceOnce()) {
  }
  newcomer_announcer_.Announce();
  recovery_.NotifyNewcomers();
}

// Does the first thing that is due, and returns whether there was any. The caller then runs all
// checks again from the top, because one action may be what another waits for. If two things are
// due at once, the order below decides. Each check looks at a count or a deadline before it looks
// at any member, so most steps cost nothing here.
bool Coordinator::Impl::AdvanceOnce() {
  // Losses come first: no epoch below forms with a lost member, and no lease is granted to it.
  if (membership_.TryLoseDetached()) return true;

  // A parked claim that can be judged is served before the recovery may end, because its process is
  // here.
  if (attaching_.TryServeParked()) return true;
  // After that, only the remaining claimants are asked for the roster.
  if (recovery_.TryAskForRoster()) return true;
  // The epoch of an old run is dropped before the recovery ends. Otherwise its absent members would
  // be lost, and these losses would fail the new run.
  if (recovery_.TryDropOldRun()) return true;
  // Everything below does nothing while the recovery lasts.
  if (recovery_.TryEnd()) return true;

  // A finished job refuses all candidates, so that none of them is judged below.
  if (membership_.TryFinish()) return true;

  // Contested places are settled, and silent survivors lost, before an epoch forms: both decide who
  // is in it.
  if (TryResolveContenders()) return true;
  if (TryLoseSilent()) return true;
  // The job forms, where it can, before it fails: at the rejoin deadline an epoch may form with
  // fewer members than before it.
  if (TryForm()) return true;
  if (give_up_policy_.TryFail()) return true;
  if (forming_.TryFail()) return true;

  // Leases are granted once it is settled which epoch stands and who is in it.
  if (leases_.TryGrant()) return true;
  // Closing a group needs only room for it, and nothing above depends on it.
  if (releases_.TryCloseMore()) return true;

  // Deferred calls come last and one at a time: each finds the job as if it had arrived now, with
  // nothing else due.
  return ServeNextDeferred();
}

bool Coordinator::Impl::TryResolveContenders() {
  const std::optional<PlacementRequests::Decision> decision = joining_.DecideContenders();
  if (!decision) return false;
  Member* const contender = joining_.CandidateOf(decision->contender);
  Member* const holder = joining_.CandidateOf(decision->conflict.holder);
  if (decision->displaces) {
    membership_.Lose({{holder, LossCause::kReplaced,
                       absl::StrCat("replaced by a newer process, ", contender->Describe())}});
  } else {
    joining_.RefuseCandidate(
        contender, PlaceTaken(decision->conflict.place, holder->Describe(), contender->Describe()));
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
  give_up_policy_.Clear();
  if (previous) membership_.Retire(*previous);
  forming_.Announce(*choice);
  return true;
}

// Serves one call that came during the recovery, as if it came now.
bool Coordinator::Impl::ServeNextDeferred() {
  const std::optional<WaiterId> id = recovery_.PopDeferred();
  if (!id) return false;
  membership_.Withdraw(*id);
  const std::optional<ParkedCall> parked = calls_.Reopen(*id);
  if (!parked) return true;  // it was answered or withdrawn in the meantime
  const auto serve = [&](auto call) {
    // This send may have been given up before it is served here.
    if (absl::Status s = calls_.CheckWanted(*parked->member, call.call); !s.ok()) return s;
    call.call.since = parked->since;
    return ServerOf(call).Serve(*id, parked->member, call);
  };
  const absl::Status served = std::visit(serve, *std::get<WaitForRecovery>(parked->wait).call);
  if (!served.ok()) calls_.Finish(*id, served);
  return true;
}

}  // namespace muster::core
