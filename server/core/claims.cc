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

// A claim has the latest results first, so it is the oldest that find no room. Whoever holds a
// lease or has completed it here is believed, and not what another member says of it; a coordinator
// that recovers cannot know better.
void Coordinator::Impl::AdoptResults(Member* member, const Claim& claim) {
  size_t refused = 0;
  absl::Status why;
  for (const CompletedLease& done : claim.completed) {
    const LeaseKey key = KeyOf(*member, done.scope, done.name);
    if (!life_.recovering() && leases_.IsTaken(key)) continue;
    absl::StatusOr<LeaseTable::Step> step =
        leases_.AdoptResult(key, member->incarnation(), done.result);
    if (step.ok()) {
      Apply(*step);
    } else if (++refused == 1) {
      why = step.status();
    }
  }
  if (refused == 0) return;
  job_.Log(Severity::kWarning,
           absl::StrCat("of the ", claim.completed.size(), " results of leases that ",
                        member->who(), " knows, ", refused, " are not kept: ", why.message()),
           "results");
}

// Returns the tokens that stand. A grant is believed only while the coordinator recovers: at any
// other time it knows its grants itself.
void Coordinator::Impl::ObserveNumbers(const Claim& claim) {
  life_.ObserveEpochNumber(claim.highest_epoch);
  leases_.Observe(claim.highest_token);
}

std::vector<uint64_t> Coordinator::Impl::AdoptLeases(Member* member, const Claim& claim) {
  ObserveNumbers(claim);
  AdoptResults(member, claim);
  std::vector<uint64_t> standing;
  for (const HeldLease& held : claim.held) {
    const LeaseKey key = KeyOf(*member, held.scope, held.name);
    const LeaseTable::Request request{member->identity.incarnation, held.request_id};
    const bool stands = life_.recovering() ? leases_.AdoptHolder(key, request, held.token, job_.now)
                                           : leases_.Stands(key, request, held.token);
    if (stands) standing.push_back(held.token);
  }
  leases_.KeepOnly(member->identity.incarnation, standing);
  ReportForgottenResults();
  return standing;
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
