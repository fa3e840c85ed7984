// What has become due: everything that one change of the state may make possible elsewhere.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

// How long members of a running epoch may take to come back before others may take their place.
constexpr absl::Duration kOldRunCheck = absl::Seconds(5);

}  // namespace

void Coordinator::Impl::Advance() {
  if (job_.draining) return;
  while (AdvanceOnce()) {
  }
  newcomer_news_.Announce();
  TellNewcomersOfRecovery();
}

// Each of these looks at a count, or at a deadline, before it looks at anybody: most steps change
// nothing here. What is done by one may be what another one waits for, so the first of them is
// asked again afterwards.
bool Coordinator::Impl::AdvanceOnce() {
  return LoseDetached() || TryServeClaim() || TryAskForRoster() || TryDropOldRun() ||
         TryEndRecovery() || TryFinishLeaving() || TryResolveContenders() || TryLoseSilent() ||
         TryForm() || giving_up_.TryFail() || forming_.TryFail() || leases_.TryGrant() ||
         releases_.TryCloseMore() || ServeNextDeferred();
}

bool Coordinator::Impl::LoseDetached() {
  if (members_.NextGrace() > job_.now) return false;
  std::vector<Loss> losses;
  for (Member* member : members_.TakeExpiredGraces(job_.now)) {
    losses.push_back(Silenced(member));
  }
  Lose(losses);
  return true;
}

// One at a time: each may be what a check that stands before this one waits for.
bool Coordinator::Impl::TryServeClaim() {
  const ParkedClaims::Entry* first = claims_.Lowest();
  if (first == nullptr || MayWin(*first->request.claim->epoch)) return false;
  const AttachRequest request = first->request;
  const WaiterId stream = first->stream;
  TakeParkedClaim(stream);
  if (absl::Status s = Enter(stream, request); !s.ok()) job_.out.EndStream(stream, s);
  return true;
}

bool Coordinator::Impl::TryAskForRoster() {
  if (claims_.next_question() > job_.now) return false;
  const ParkedClaims::Entry* asked = claims_.Ask(job_.now);
  if (asked == nullptr) return false;
  const Claim& claim = *asked->request.claim;
  job_.Log(Severity::kInfo,
           absl::StrCat("asking ", Who(claim.rank, asked->request.member, members_.node_names()),
                        " for the roster of epoch ", claim.epoch->number));
  job_.out.Send(asked->stream, job_.out.Share(NeedRoster{*claim.epoch}));
  return true;
}

// Members of a running epoch are back within a second or two. Where most of them are not, and new
// processes fill a whole world, the claimants are left over from an earlier run that had the same
// address and job id. Nothing of what they said holds for the new one.
bool Coordinator::Impl::TryDropOldRun() {
  if (!life_.recovering() || !epoch() || job_.now < epoch_claimed_ + kOldRunCheck) return false;
  const uint32_t came = static_cast<uint32_t>(members_.tally().attached);
  if (2 * came > epoch()->size()) return false;
  const uint32_t newcomers = NewcomersWorldSize();
  if (newcomers == 0) return false;
  const absl::Status over = absl::AbortedError(absl::StrCat(
      "epoch ", epoch()->id().number,
      " is over: it is one of an earlier run of this job, of which ", came, " of ", epoch()->size(),
      " members have come back in ", HowLong(job_.now - epoch_claimed_), ", while ", newcomers,
      " new processes fill a whole world; end what is left of the earlier run, and give each run a "
      "name of its own (MUSTER_JOB)"));
  job_.Log(Severity::kWarning, std::string(over.message()));
  life_.EndRecovery();
  DropEpoch({}, over);
  life_.StartAnew();
  leases_.Clear();
  return true;
}

// What is due by now was done in the step that came to now.
Time Coordinator::Impl::NextRecoveryStep() const {
  if (!life_.recovering()) return absl::InfiniteFuture();
  Time next = std::min(recovery_ends_, claims_.next_question());
  if (!untold_.empty()) next = std::min(next, may_tell_);
  const Time check = epoch_claimed_ + kOldRunCheck;
  return epoch() && check > job_.now ? std::min(check, next) : next;
}

bool Coordinator::Impl::TryEndRecovery() {
  if (!life_.recovering()) return false;
  const bool all_heard = epoch() && members_.tally().unaccounted == 0 && claims_.empty();
  if (!all_heard && recovery_ends_ > job_.now) return false;
  epoch() ? EndRecovery() : GiveRecoveryUp();
  return true;
}

bool Coordinator::Impl::TryFinishLeaving() {
  if (life_.state() != JobState::kRunning || life_.recovering() || members_.tally().staying > 0)
    return false;
  life_.Finish("every member has left");
  job_.Log(Severity::kInfo, absl::StrCat("the job is finished: ", life_.reason()));
  LogStragglers();
  for (Member* member : epoch()->members()) {
    if (!member->lost()) MarkLeft(member);
  }
  joining_.RefuseCandidates(
      absl::FailedPreconditionError("the job is finished: its members have left"));
  return true;
}

// Calls that came during the recovery are served as if they came now, one after the other.
bool Coordinator::Impl::ServeNextDeferred() {
  if (life_.recovering() || deferred_.empty()) return false;
  const WaiterId id = deferred_.front();
  deferred_.pop_front();
  Withdraw(id);
  const std::optional<ParkedCall> parked = calls_.Reopen(id);
  if (!parked) return true;  // it was answered or withdrawn meanwhile
  const auto serve = [&](auto call) {
    // It may have arrived twice before it was given up.
    if (absl::Status s = calls_.CheckWanted(*parked->member, call.call); !s.ok()) return s;
    call.call.since = parked->since;
    return ServerOf(call).Serve(id, parked->member, call);
  };
  const absl::Status served = std::visit(serve, *std::get<ForRecovery>(parked->wait).call);
  if (!served.ok()) calls_.Finish(id, served);
  return true;
}

bool Coordinator::Impl::TryResolveContenders() {
  const std::optional<PlaceBook::Verdict> verdict = joining_.DecideContenders();
  if (!verdict) return false;
  Member* const contender = joining_.CandidateOf(verdict->contender);
  Member* const holder = joining_.CandidateOf(verdict->conflict.holder);
  if (verdict->displaces) {
    Lose({{holder, LossCause::kReplaced,
           absl::StrCat("replaced by a newer process, ", contender->who())}});
  } else {
    joining_.RefuseCandidate(contender,
                             PlaceTaken(verdict->conflict.place, holder->who(), contender->who()));
  }
  return true;
}

bool Coordinator::Impl::TryLoseSilent() {
  std::vector<Loss> losses;
  for (Member* member : forming_.SilentSurvivors()) {
    losses.push_back({member, LossCause::kNotRejoined,
                      absl::StrCat("it did not call Rejoin within ",
                                   absl::FormatDuration(job_.options.rejoin_timeout))});
  }
  if (losses.empty()) return false;
  Lose(losses);
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
  early_exits_.clear();
  giving_up_.Clear();
  if (previous) Retire(*previous);
  forming_.Announce(*choice);
  return true;
}

}  // namespace muster::core
