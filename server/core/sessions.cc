// Attach and detach of members.

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "server/core/coordinator_impl.h"
#include "server/core/validation.h"

namespace muster::core {
namespace {

absl::Status ReplacedSession() {
  return absl::AbortedError("replaced by a newer session of the same process");
}

}  // namespace

absl::Status Coordinator::Impl::CheckAttach(const AttachRequest& request) const {
  if (job_.draining) return absl::UnavailableError(*job_.draining);
  const uint32_t max = job_.options.limits.max_name_bytes;
  if (absl::Status s = ValidateName("job_id", request.job_id, max); !s.ok()) return s;
  if (absl::Status s = job_.CheckJob(request.job_id); !s.ok()) return s;
  if (absl::Status s = CheckOptionalName("sdk_version", request.sdk_version, kMaxVersionBytes);
      !s.ok()) {
    return s;
  }
  if (request.protocol_version != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "versions do not fit: SDK ", request.sdk_version, " speaks protocol ",
        request.protocol_version, ", musterd ", job_.options.daemon_version, " speaks protocol ",
        kProtocolVersion, "; use releases of one protocol version"));
  }
  if (absl::Status s = CheckIdentity(request.member, job_.options.limits); !s.ok()) return s;
  return request.claim ? CheckClaim(request.member, *request.claim, job_.options.limits, job_.now)
                       : absl::OkStatus();
}

absl::Status Coordinator::Impl::Attach(WaiterId stream, const AttachRequest& request) {
  if (absl::Status s = CheckAttach(request); !s.ok()) return s;
  if (absl::Status s = SupersedeAttach(request); !s.ok()) return s;
  if (MustHearRoster(request)) return ParkClaim(stream, request);
  return Enter(stream, request);
}

absl::Status Coordinator::Impl::Enter(WaiterId stream, const AttachRequest& request) {
  absl::StatusOr<Member*> member = Admit(request);
  if (!member.ok()) return member.status();
  StartSession(*member, stream, request);
  return absl::OkStatus();
}

// Of two Attach calls of a process the later one counts, whichever arrives first.
absl::Status Coordinator::Impl::SupersedeAttach(const AttachRequest& request) {
  const Incarnation& incarnation = request.member.incarnation;
  const Member* known = members_.Find(incarnation);
  const ParkedClaims::Entry* parked = claims_.FindProcess(incarnation);
  if ((known != nullptr && request.attempt < known->attach_attempt) ||
      (parked != nullptr && request.attempt < parked->request.attempt)) {
    return absl::CancelledError("a later Attach of this process has arrived");
  }
  if (parked != nullptr) EndParkedClaim(parked->stream, ReplacedSession());
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::CheckRoomForMember() const {
  if (members_.size() + claims_.size() < job_.options.limits.max_members) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(job_.options.limits.max_members,
                   " members are attached, the limit (musterd --max-members raises it, as far as "
                   "its ulimit -Hn goes)"));
}

// The member that the request comes from: a known one, or a new one if there is room.
absl::StatusOr<Member*> Coordinator::Impl::Admit(const AttachRequest& request) {
  if (request.claim && request.claim->epoch) {
    if (absl::Status s = ConsiderClaimedEpoch(request.member, *request.claim); !s.ok()) return s;
  }
  if (Member* member = members_.Find(request.member.incarnation); member != nullptr) {
    if (!member->lost()) return member;
    return absl::AbortedError(
        absl::StrCat("this process, ", member->who(), ", was lost: ", member->lost()->cause));
  }
  if (absl::Status s = CheckRoomForMember(); !s.ok()) return s;
  giving_up_.Expect(request.member.incarnation);
  return members_.Add(request.member, job_.now);
}

void Coordinator::Impl::StartSession(Member* member, WaiterId stream,
                                     const AttachRequest& request) {
  const bool again = !member->awaited();
  if (again) {
    ++job_.tally.counters.reattached;
    EndSession(member);
  }
  members_.StartSession(member, {job_.options.instance, ++last_session_, job_.options.random()},
                        stream);
  member->attach_attempt = request.attempt;
  member->last_call = job_.now;
  member->contributions_requested.clear();
  member->withdrawn_sends.clear();
  member->stopped_since.reset();
  Attached attached{member->session(), {}, life_.recovering()};
  // Who has no place has never had one here, and so knows nothing of the job: not even its numbers.
  const bool knows = request.claim && member->rank();
  if (knows) {
    ObserveNumbers(*request.claim);
    attached.standing_tokens = leases_.Adopt(*member, *request.claim);
  }
  job_.Send(*member, job_.out.Share(std::move(attached)));
  job_.Log(again ? Severity::kInfo : Severity::kDebug,
           absl::StrCat(member->who(), again ? " attached again" : " attached"),
           again ? Timeline::kAttachedAgain : "");
  if (epoch() && member->rank() && epoch()->broken()) {
    job_.Send(*member, BrokenEvent(job_.elastic() && !member->leaving()));
  }
  if (knows) ApplyClaim(member, *request.claim, request.attempt);
  newcomer_news_.Repeat(*member);
  if (life_.recovering()) {
    recovery_stall_.Restart(job_.now);
    stalls_.Begin();
  }
}

// Its stream ends, and so do its parked calls, whose replies nobody would look at.
void Coordinator::Impl::EndSession(Member* member) {
  FinishAllOf(member, absl::UnavailableError("the process has attached again; repeat the call"));
  if (member->attached()) {
    EndStream(member, ReplacedSession());
  }
  members_.EndSession(member);
}

void Coordinator::Impl::EndStream(Member* member, const absl::Status& status) {
  job_.out.EndStream(member->stream(), status);
  members_.CloseStream(member);
}

void Coordinator::Impl::Take(WaiterId stream, const StreamClosed&) {
  if (TakeParkedClaim(stream)) return;
  Member* member = members_.FindByStream(stream);
  if (member == nullptr) return;  // of an older session, or ended by us
  collectives_.EndPartsOf(*member);
  members_.CloseStream(member);
  member->activity.CutOff(job_.now);
  if (member->gone()) return;
  if (member->rank() && life_.state() == JobState::kFailed) {
    return MarkLeft(member);  // it was told of the failure and has gone
  }
  job_.Log(
      Severity::kDebug,
      absl::StrCat(member->who(), " is detached: its connection ended; lost in ",
                   absl::FormatDuration(job_.options.member_grace), " unless it attaches again"));
  members_.StartGrace(*member, job_.now + job_.options.member_grace);
}

// The one way in which a member is forgotten: nothing of it stays behind.
void Coordinator::Impl::Remove(Member* member) {
  joining_.StopSeeking(member);
  leases_.Forget(*member);
  giving_up_.Forget(member->incarnation());
  members_.Remove(member);
}

void Coordinator::Impl::Withdraw(WaiterId id) {
  const ParkedCall* call = calls_.parked().Find(id);
  if (call == nullptr) return;
  std::visit(Overloaded{
                 [&](const ForPlace&) { joining_.StopSeeking(call->member); },
                 [&](const ForCollective& wait) { wait.group->Withdraw(wait.index, id); },
                 [&](const ForLease& wait) { leases_.Withdraw(*call->member, wait); },
                 [&](const ForLeavers&) {},  // the intention to leave stands
                 [&](const ForRecovery& wait) { job_.budget.Release(HeldBytes(*wait.call)); },
             },
             call->wait);
}

void Coordinator::Impl::FinishAllOf(Member* member, const absl::Status& status) {
  for (WaiterId id : calls_.parked().Of(*member)) {
    Withdraw(id);
    calls_.Finish(id, status);
  }
}

void Coordinator::Impl::FinishServedOf(Member* member, const absl::Status& status) {
  for (WaiterId id : calls_.parked().Of(*member)) {
    if (std::holds_alternative<ForRecovery>(calls_.parked().Find(id)->wait)) continue;
    Withdraw(id);
    calls_.Finish(id, status);
  }
}

// Those of the epoch before that are not in this one: they were lost or have left, or there is no
// place for them any more.
void Coordinator::Impl::Retire(const Epoch& previous) {
  for (Member* member : previous.members()) {
    const uint32_t rank = *member->rank();
    if (rank < epoch()->size() && epoch()->members()[rank] == member) continue;
    FinishAllOf(member, previous.broken_with());
    if (member->attached()) EndStream(member, previous.broken_with());
    Remove(member);
  }
}

}  // namespace muster::core
