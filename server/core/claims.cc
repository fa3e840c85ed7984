// Claims: what members say they know of the job.

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

// Tokens and epoch numbers are microseconds since 1970: a larger one is an error, and must not
// bring the numbers to overflow.
constexpr uint64_t kMaxNumber = uint64_t{1} << 62;

absl::Status CheckNumber(absl::string_view what, uint64_t number) {
  if (number <= kMaxNumber) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the claim's ", what, " is ", number, "; expected at most ", kMaxNumber));
}

template <class... Text>
absl::Status Malformed(const Text&... text) {
  return absl::InvalidArgumentError(absl::StrCat("the claim's ", text...));
}

}  // namespace

absl::Status Coordinator::Impl::CheckClaim(const MemberIdentity& claimant,
                                           const Claim& claim) const {
  if (absl::Status s = CheckNumber("highest token", claim.highest_token); !s.ok()) return s;
  if (absl::Status s = CheckNumber("highest epoch number", claim.highest_epoch); !s.ok()) return s;
  if (absl::Status s = CheckClaimedLeases(claim); !s.ok()) return s;
  return claim.epoch ? CheckClaimedEpoch(claimant, claim) : absl::OkStatus();
}

absl::Status Coordinator::Impl::CheckClaimedEpoch(const MemberIdentity& claimant,
                                                  const Claim& claim) const {
  if (absl::Status s = CheckNumber("epoch number", claim.epoch->number); !s.ok()) return s;
  if (claim.roster == nullptr || claim.rank >= claim.roster->size()) {
    return Malformed("rank ", claim.rank, " is not in its roster, which has ",
                     claim.roster == nullptr ? 0 : claim.roster->size(), " entries");
  }
  if (claim.roster->size() > options_.limits.max_members) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the claim's roster has ", claim.roster->size(), " members; the limit is ",
                     options_.limits.max_members, " (musterd --max-members raises it)"));
  }
  absl::flat_hash_set<absl::string_view> seen;
  for (const RosterEntry& entry : *claim.roster) {
    if (absl::Status s = CheckIdentity(entry.member); !s.ok()) return s;
    if (!seen.insert(entry.member.incarnation).second)
      return Malformed("roster names a member twice");
  }
  if ((*claim.roster)[claim.rank].member.incarnation != claimant.incarnation) {
    return Malformed("roster has another process at rank ", claim.rank);
  }
  if (claim.groups.size() > options_.limits.max_groups) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the claim names ", claim.groups.size(), " groups; the limit is ",
                     options_.limits.max_groups, " (musterd --max-groups raises it)"));
  }
  for (const GroupClaim& group : claim.groups) {
    const uint32_t size = static_cast<uint32_t>(claim.roster->size());
    if (absl::Status s = CheckGroup(group.group, claim.rank, size); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::CheckClaimedLeases(const Claim& claim) const {
  for (const HeldLease& held : claim.held) {
    if (absl::Status s = CheckLease(held.name); !s.ok()) return s;
    if (absl::Status s = CheckNumber("lease token", held.token); !s.ok()) return s;
  }
  for (const CompletedLease& done : claim.completed) {
    if (absl::Status s = CheckLease(done.name); !s.ok()) return s;
    if (absl::Status s = CheckNumber("lease token", done.result.token); !s.ok()) return s;
    if (done.result.value->size() > options_.limits.max_payload_bytes) {
      return Malformed("result of lease '", done.name, "' has ", done.result.value->size(),
                       " bytes; the limit is ", options_.limits.max_payload_bytes);
    }
  }
  return absl::OkStatus();
}

// Returns the tokens that stand. A grant is believed only while the coordinator recovers: at any
// other time it knows its grants itself.
std::vector<uint64_t> Coordinator::Impl::AdoptLeases(Member* member, const Claim& claim) {
  leases_.Observe(claim.highest_token);
  for (const CompletedLease& done : claim.completed) {
    absl::StatusOr<LeaseTable::Step> step =
        leases_.AdoptResult(KeyOf(*member, done.scope, done.name), done.result);
    if (step.ok()) {
      Apply(*step);
    } else {
      Log(Severity::kWarning,
          absl::StrCat("the result of lease '", done.name, "', known to ", member->who(),
                       ", is not kept: ", step.status().message()));
    }
  }
  std::vector<uint64_t> standing;
  for (const HeldLease& held : claim.held) {
    const LeaseKey key = KeyOf(*member, held.scope, held.name);
    const LeaseTable::Request request{member->identity.incarnation, held.request_id};
    const bool stands = recovering() ? leases_.AdoptHolder(key, request, held.token, now_)
                                     : leases_.Stands(key, request, held.token);
    if (stands) standing.push_back(held.token);
  }
  leases_.KeepOnly(member->identity.incarnation, standing);
  return standing;
}

void Coordinator::Impl::ApplyClaim(Member* member, const Claim& claim) {
  highest_epoch_ = std::max(highest_epoch_, claim.highest_epoch);
  if (!claim.epoch || !epoch_ || !(*claim.epoch == epoch_->id)) return;
  for (const GroupClaim& group : claim.groups) ApplyGroupClaim(member, group);
  if (claim.leaving && epoch_->broken.ok()) StartLeaving(member);
  if (claim.broken && epoch_->broken.ok()) ApplyBrokenClaim(*claim.broken);
  if (!epoch_->recovered) return;
  for (const auto& [name, group] : epoch_->groups) AskForContributions(group.get());
}

void Coordinator::Impl::ApplyGroupClaim(Member* member, const GroupClaim& claim) {
  const absl::StatusOr<CollectiveGroup*> group = FindGroup(claim.group);
  if (!group.ok()) {
    Log(Severity::kWarning,
        absl::StrCat(member->who(), " claims a group that cannot be: ", group.status().message()));
    return;
  }
  Apply(*group, (*group)->Observe(*(*group)->IndexOf(*member->rank), claim.next_sequence));
  if (claim.finished.empty()) return;
  Apply(*group, (*group)->FinishForGood(Unsaid(claim.finished)));
}

void Coordinator::Impl::ApplyBrokenClaim(const BrokenClaim& claim) {
  for (const FailureClaim& failure : claim.failures) {
    const auto it = members_.find(failure.member.incarnation);
    if (it == members_.end() || !it->second->rank || it->second->gone()) continue;
    Member* member = it->second.get();
    RecordLoss(member, failure.cause);
    member->lost->when = now_ - failure.age;
    member->lost->activity = failure.activity;
    failures_.front() = *member->lost;
  }
  BreakEpoch(Unsaid(claim.reason));
}

std::string Coordinator::Impl::Unsaid(absl::string_view text) const {
  return std::string(absl::StripPrefix(text, Say("")));
}

}  // namespace muster::core
