// The part of the recovery that judges claims: what members say they know of the job.

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/api/validation.h"
#include "server/core/recovery/recovery.h"

namespace muster::core {

uint64_t HeldBytes(const Claim& claim) {
  uint64_t bytes = 0;
  for (const GroupClaim& group : claim.groups) {
    bytes += group.group.ranks.size() * sizeof(uint32_t) + group.finished.size();
  }
  for (const KnownGroup& group : claim.known_groups) {
    bytes += sizeof(KnownGroup) + group.digest.size() + group.finished.size();
  }
  for (const CompletedLease& done : claim.completed) bytes += HeldBytes(done.result);
  if (!claim.broken) return bytes;
  for (const FailureClaim& failure : claim.broken->failures) {
    bytes += failure.cause.size() + failure.activity.size();
  }
  return bytes;
}

// Returns whether a claim of this epoch would win. The highest claimed epoch wins while the
// recovery lasts.
bool Recovery::MayWin(const EpochId& claimed) const {
  return life_.recovering() && (!epoch() || IsHigher(claimed, epoch()->id()));
}

bool Recovery::NeedsRoster(const AttachRequest& request) const {
  if (!request.claim || !request.claim->epoch || request.claim->roster) return false;
  return MayWin(*request.claim->epoch) || (!life_.recovering() && !epoch());
}

absl::Status Recovery::CheckRoomForMember() const {
  if (members_.size() + claims_.size() < job_.options.limits.max_members) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(job_.options.limits.max_members,
                   " members are attached, the limit (musterd --max-members raises it, as far as "
                   "its ulimit -Hn goes)"));
}

absl::Status Recovery::ParkClaim(WaiterId stream, const AttachRequest& request) {
  if (absl::Status s = CheckRoomForMember(); !s.ok()) return s;
  // UNAVAILABLE, because there will be room when the roster is known.
  if (absl::Status s = job_.budget.Reserve(HeldBytes(*request.claim)); !s.ok()) {
    return absl::UnavailableError(s.message());
  }
  claims_.Park(job_.now, stream, request);
  if (!life_.recovering()) Begin(request.member, *request.claim);
  return absl::OkStatus();
}

bool Recovery::TakeParkedClaim(WaiterId stream) {
  const std::optional<ParkedClaims::Entry> taken = claims_.Take(job_.now, stream);
  if (taken) job_.budget.Release(HeldBytes(*taken->request.claim));
  return taken.has_value();
}

void Recovery::EndParkedClaim(WaiterId stream, const absl::Status& status) {
  TakeParkedClaim(stream);
  job_.out.EndStream(stream, status);
}

std::optional<ParkedClaims::Entry> Recovery::TakeServableClaim() {
  const ParkedClaims::Entry* first = claims_.Lowest();
  if (first == nullptr || MayWin(*first->request.claim->epoch)) return std::nullopt;
  ParkedClaims::Entry taken = *first;
  TakeParkedClaim(taken.stream);
  return taken;
}

bool Recovery::TryAskForRoster() {
  if (claims_.next_question() > job_.now) return false;
  const ParkedClaims::Entry* claimant = claims_.Ask(job_.now);
  if (claimant == nullptr) return false;
  const Claim& claim = *claimant->request.claim;
  job_.Log(Severity::kInfo,
           absl::StrCat("asking ",
                        DescribeMember(claim.rank, claimant->request.member, members_.node_names()),
                        " for the roster of epoch ", claim.epoch->number));
  job_.out.Send(claimant->stream, job_.out.Share(NeedRoster{*claim.epoch}));
  return true;
}

// Adopts the claimed epoch if it wins. Refuses a claim of another epoch, unless the claimant has a
// place in the winner. In that case the answer that told it of its place was lost:
//
//   epoch 5 forms from the members of epoch 4; the answer to rank 2 is lost; the daemon restarts;
//   rank 0 claims epoch 5, which wins; rank 2 still claims epoch 4, and is let in.
absl::Status Recovery::ConsiderClaimedEpoch(const MemberIdentity& claimant, const Claim& claim) {
  if (!epoch() && !claim.roster) {
    return absl::AbortedError(absl::StrCat(
        "epoch ", claim.epoch->number, " is over: no process has sent the restarted coordinator ",
        "the list of its members; start this process again"));
  }
  if (!epoch()) {
    if (!life_.recovering()) Begin(claimant, claim);
    AdoptEpoch(claim);
  } else if (claim.roster && MayWin(*claim.epoch)) {
    job_.Log(Severity::kWarning,
             absl::StrCat("epoch ", epoch()->id().number, " is superseded by epoch ",
                          claim.epoch->number, ", claimed by ",
                          DescribeMember(claim.rank, claimant, members_.node_names())));
    DropEpoch(*claim.roster, absl::AbortedError(absl::StrCat(
                                 "epoch ", epoch()->id().number,
                                 " is over: a later one was formed without this process; start it "
                                 "again")));
    AdoptEpoch(claim);
  }
  const Member* member = members_.Find(claimant.incarnation);
  if (member != nullptr && member->rank()) {
    const bool same = *claim.epoch == epoch()->id();
    if (!same) return absl::OkStatus();
    if (*member->rank() == claim.rank) {
      return CheckClaimedGroups(claim, epoch()->size(), job_.options.limits);
    }
    return absl::InvalidArgumentError(absl::StrCat("the claim names rank ", claim.rank,
                                                   " of epoch ", claim.epoch->number, "; it is ",
                                                   member->Describe()));
  }
  return absl::AbortedError(absl::StrCat(
      "epoch ", claim.epoch->number, " is over: this job is in epoch ", epoch()->id().number,
      ", which was formed without this process; start it again"));
}

}  // namespace muster::core
