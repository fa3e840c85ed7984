// Attach: who is let in, and what becomes of a process's claim.

#include "server/core/recovery/attaching.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/validation.h"

namespace muster::core {

Attaching::Attaching(JobContext& job, Lifecycle& life, MemberTable& members, Membership& membership,
                     Groups& groups, GroupReleases& releases, Leases& leases,
                     GiveUpPolicy& give_up_policy, NewcomerAnnouncer& newcomer_announcer,
                     Recovery& recovery)
    : job_(job),
      life_(life),
      members_(members),
      membership_(membership),
      groups_(groups),
      releases_(releases),
      leases_(leases),
      give_up_policy_(give_up_policy),
      newcomer_announcer_(newcomer_announcer),
      recovery_(recovery) {}

absl::Status Attaching::Check(const AttachRequest& request) const {
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
        "the versions do not match: SDK ", request.sdk_version, " speaks protocol ",
        request.protocol_version, ", musterd ", job_.options.daemon_version, " speaks protocol ",
        kProtocolVersion, "; install releases that speak the same protocol version"));
  }
  if (absl::Status s = CheckIdentity(request.member, job_.options.limits); !s.ok()) return s;
  if (absl::Status s = CheckOptionalName("cpus", request.cpus, kMaxCpusBytes); !s.ok()) return s;
  return request.claim ? CheckClaim(request.member, *request.claim, job_.options.limits, job_.now)
                       : absl::OkStatus();
}

absl::Status Attaching::Serve(WaiterId stream, const AttachRequest& request) {
  if (absl::Status s = Check(request); !s.ok()) return s;
  if (absl::Status s = Supersede(request); !s.ok()) return s;
  if (recovery_.NeedsRoster(request)) return recovery_.ParkClaim(stream, request);
  return Enter(stream, request);
}

absl::Status Attaching::Enter(WaiterId stream, const AttachRequest& request) {
  absl::StatusOr<Member*> member = Admit(request);
  if (!member.ok()) return member.status();
  StartSession(*member, stream, request);
  return absl::OkStatus();
}

// Ends the older of two Attach calls of one process. The one with the higher attempt counts,
// whichever arrives first.
absl::Status Attaching::Supersede(const AttachRequest& request) {
  const Incarnation& incarnation = request.member.incarnation;
  const Member* known = members_.Find(incarnation);
  const ParkedClaims::Entry* parked = recovery_.claims().FindProcess(incarnation);
  if ((known != nullptr && request.attempt < known->attach_attempt) ||
      (parked != nullptr && request.attempt < parked->request.attempt)) {
    return absl::CancelledError("a later Attach of this process has arrived");
  }
  if (parked != nullptr) recovery_.EndParkedClaim(parked->stream, ReplacedSession());
  return absl::OkStatus();
}

absl::StatusOr<Member*> Attaching::Admit(const AttachRequest& request) {
  if (request.claim && request.claim->epoch) {
    const absl::Status fits = recovery_.ConsiderClaimedEpoch(request.member, *request.claim);
    if (!fits.ok()) return fits;
  }
  if (Member* member = members_.Find(request.member.incarnation); member != nullptr) {
    if (!member->lost()) return member;
    return absl::AbortedError(
        absl::StrCat("this process, ", member->Describe(), ", was lost: ", member->lost()->cause));
  }
  if (absl::Status s = recovery_.CheckRoomForMember(); !s.ok()) return s;
  give_up_policy_.Expect(request.member.incarnation);
  return members_.Add(request.member, job_.now);
}

void Attaching::StartSession(Member* member, WaiterId stream, const AttachRequest& request) {
  const bool again = membership_.StartSession(member, stream, request.attempt);
  member->cpus = request.cpus;
  member->commits_on_node = request.commits_on_node;
  if (life_.epoch() && member->rank()) groups_.TrustCommitsOf(*member);
  Attached attached{member->session(), {}, life_.recovering()};
  // A process without a place has never had one here. So it knows nothing of the job, not even its
  // numbers.
  const bool knows = request.claim && member->rank();
  if (knows) {
    membership_.ObserveNumbers(*request.claim);
    attached.standing_tokens = leases_.Adopt(*member, *request.claim);
  }
  job_.Send(*member, job_.out.Share(std::move(attached)));
  job_.Log(again ? Severity::kInfo : Severity::kDebug,
           absl::StrCat(member->Describe(), again ? " attached again" : " attached"),
           again ? Timeline::kAttachedAgain : "");
  if (life_.epoch() && member->rank() && life_.epoch()->broken()) {
    job_.Send(*member, membership_.BrokenEvent(job_.elastic() && !member->leaving()));
  }
  if (knows) ApplyClaim(member, *request.claim, request.attempt);
  newcomer_announcer_.Repeat(*member);
  recovery_.NoteAttached();
}

void Attaching::ApplyClaim(Member* member, const Claim& claim, uint64_t attempt) {
  if (claim.stop_asked) life_.AskStop();
  if (!claim.epoch || !life_.epoch() || !(*claim.epoch == life_.epoch()->id())) return;
  life_.AdoptHistory(claim.history);
  if (claim.stop_sequence) {
    life_.AskStop();
    groups_.ObserveStop(*claim.stop_sequence);
  }
  groups_.ApplyClaims(*member, claim.groups, attempt);
  releases_.ApplyKnownGroups(member, claim.known_groups, attempt);
  if (claim.leaving && !life_.epoch()->broken()) membership_.StartLeaving(member);
  if (claim.broken && !life_.epoch()->broken()) membership_.ApplyBrokenClaim(*claim.broken);
  groups_.RequestContributionsOf(member);
}

bool Attaching::TryServeParked() {
  const std::optional<ParkedClaims::Entry> parked = recovery_.TakeServableClaim();
  if (!parked) return false;
  const absl::Status entered = Enter(parked->stream, parked->request);
  if (!entered.ok()) job_.out.EndStream(parked->stream, entered);
  return true;
}

}  // namespace muster::core
