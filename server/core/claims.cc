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
  if (claim.stop_sequence) {
    life_.AskStop();
    groups_.ObserveStop(*claim.stop_sequence);
  }
  groups_.ApplyClaims(*member, claim.groups, attempt);
  releases_.ApplyKnownGroups(member, claim.known_groups, attempt);
  if (claim.leaving && !epoch()->broken()) StartLeaving(member);
  if (claim.broken && !epoch()->broken()) ApplyBrokenClaim(*claim.broken);
  groups_.RequestContributionsOf(member);
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
