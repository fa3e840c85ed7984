// Sessions of members: how they begin and end, and what ends with them.

#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"
#include "server/core/members/membership.h"

namespace muster::core {

Membership::Membership(JobContext& job, Lifecycle& life, MemberTable& members, Calls& calls,
                       Groups& groups, Collectives& collectives, Leases& leases, Joining& joining,
                       Forming& forming, GiveUpPolicy& give_up_policy)
    : job_(job),
      life_(life),
      members_(members),
      calls_(calls),
      groups_(groups),
      collectives_(collectives),
      leases_(leases),
      joining_(joining),
      forming_(forming),
      give_up_policy_(give_up_policy) {}

absl::Status ReplacedSession() {
  return absl::AbortedError("replaced by a newer session of the same process");
}

bool Membership::StartSession(Member* member, WaiterId stream, uint64_t attempt) {
  const bool again = !member->awaited();
  if (again) {
    ++job_.tally.counters.reattached;
    EndSession(member);
  }
  members_.StartSession(member, {job_.options.instance, ++last_session_, job_.options.random()},
                        stream);
  member->attach_attempt = attempt;
  member->last_call = job_.now;
  member->contributions_requested.clear();
  member->withdrawn_sends.clear();
  member->stopped_since.reset();
  return again;
}

// Ends its stream and its parked calls. The process does not wait for their replies any more.
void Membership::EndSession(Member* member) {
  FinishAllOf(member, absl::UnavailableError("the process has attached again; repeat the call"));
  if (member->attached()) {
    EndStream(member, ReplacedSession());
  }
  members_.EndSession(member);
}

void Membership::EndStream(Member* member, const absl::Status& status) {
  job_.out.EndStream(member->stream(), status);
  members_.CloseStream(member);
}

void Membership::NoteStreamClosed(WaiterId stream) {
  Member* member = members_.FindByStream(stream);
  if (member == nullptr) return;  // an older session's stream, or one that this daemon has ended
  collectives_.EndPartsOf(*member);
  members_.CloseStream(member);
  member->activity.CutOff(job_.now);
  if (member->gone()) return;
  if (member->rank() && life_.state() == JobState::kFailed) {
    return MarkLeft(member);  // it was told of the failure and has gone
  }
  job_.Log(
      Severity::kDebug,
      absl::StrCat(member->Describe(), " is detached: its connection ended; lost in ",
                   absl::FormatDuration(job_.options.member_grace), " unless it attaches again"));
  members_.StartGrace(*member, job_.now + job_.options.member_grace);
}

void Membership::Dismiss(Member* member, const absl::Status& status) {
  FinishAllOf(member, status);
  if (member->attached()) EndStream(member, status);
  Remove(member);
}

void Membership::Remove(Member* member) {
  joining_.StopSeeking(member);
  leases_.Forget(*member);
  give_up_policy_.Forget(member->incarnation());
  members_.Remove(member);
}

void Membership::Withdraw(WaiterId id) {
  const ParkedCall* call = calls_.parked().Find(id);
  if (call == nullptr) return;
  std::visit(Overloaded{
                 [&](const WaitForPlace&) { joining_.StopSeeking(call->member); },
                 [&](const WaitForCollective& wait) { wait.group->Withdraw(wait.index, id); },
                 [&](const WaitForLease& wait) { leases_.Withdraw(*call->member, wait); },
                 [&](const WaitForLeavers&) {},  // the intention to leave stands
                 [&](const WaitForRecovery& wait) { job_.budget.Release(HeldBytes(*wait.call)); },
             },
             call->wait);
}

void Membership::FinishAllOf(Member* member, const absl::Status& status) {
  for (WaiterId id : calls_.parked().CallsOf(*member)) {
    Withdraw(id);
    calls_.Finish(id, status);
  }
}

void Membership::FinishServedOf(Member* member, const absl::Status& status) {
  for (WaiterId id : calls_.parked().CallsOf(*member)) {
    if (std::holds_alternative<WaitForRecovery>(calls_.parked().Find(id)->wait)) continue;
    Withdraw(id);
    calls_.Finish(id, status);
  }
}

// Dismisses members that were lost or have left, or for which there is no place any more.
void Membership::Retire(const Epoch& previous) {
  for (Member* member : previous.members()) {
    const uint32_t rank = *member->rank();
    if (rank < epoch()->size() && epoch()->members()[rank] == member) continue;
    Dismiss(member, previous.broken_status());
  }
}

}  // namespace muster::core
