// Claims: what members say they know of the job.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"

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

// Returns the tokens that stand. A grant is believed only while the coordinator recovers: at any
// other time it knows its grants itself.
void Coordinator::Impl::ObserveNumbers(const Claim& claim) {
  life_.ObserveEpochNumber(claim.highest_epoch);
  leases_.ObserveToken(claim.highest_token);
}

void Coordinator::Impl::ApplyClaim(Member* member, const Claim& claim, uint64_t attempt) {
  if (claim.stop_asked) life_.AskStop();
  if (!claim.epoch || !epoch() || !(*claim.epoch == epoch()->id())) return;
  life_.AdoptHistory(claim.history);
  ApplyStopClaim(claim);
  ApplyGroupClaims(member, claim.groups, attempt);
  ApplyKnownGroups(member, claim.known_groups, attempt);
  if (claim.leaving && !epoch()->broken()) StartLeaving(member);
  if (claim.broken && !epoch()->broken()) ApplyBrokenClaim(*claim.broken);
  if (!epoch()->recovered()) return;
  for (const auto& [name, group] : epoch()->groups()) {
    if (group->IndexOf(*member->rank())) RequestContribution(*group, member);
  }
}

// The claim is taken all the same: that a coordinator has less room now must not end a member.
void Coordinator::Impl::ApplyGroupClaims(Member* member, const std::vector<GroupClaim>& claims,
                                         uint64_t attempt) {
  size_t refused = 0;
  absl::Status why;
  for (const GroupClaim& claim : claims) {
    const absl::Status applied = ApplyGroupClaim(member, claim, attempt);
    if (!applied.ok() && ++refused == 1) why = applied;
  }
  if (refused == 0) return;
  job_.Log(Severity::kWarning,
           absl::StrCat("of the ", claims.size(), " groups that ", member->who(), " claims, ",
                        refused, " cannot be: ", why.message()),
           "group");
}

absl::Status Coordinator::Impl::ApplyGroupClaim(Member* member, const GroupClaim& claim,
                                                uint64_t attempt) {
  const absl::StatusOr<CollectiveGroup*> group = FindGroup(claim.group, *member->rank());
  if (!group.ok()) return group.status();
  const uint32_t index = *(*group)->IndexOf(*member->rank());
  Apply(*group, (*group)->Retain(index, claim.next_sequence, attempt));
  if (!claim.finished.empty()) {
    Apply(*group, (*group)->FinishForGood(job_.out.WithoutJob(claim.finished)));
  }
  return absl::OkStatus();
}

void Coordinator::Impl::ApplyBrokenClaim(const BrokenClaim& claim) {
  for (const FailureClaim& failure : claim.failures) {
    Member* member = members_.Find(failure.member.incarnation);
    if (member == nullptr || !member->rank() || member->gone()) continue;
    RecordLoss(member, {member->rank(), member->identity, failure.cause, job_.now - failure.age,
                        failure.activity});
  }
  BreakEpoch(claim.reason);
}

}  // namespace muster::core
