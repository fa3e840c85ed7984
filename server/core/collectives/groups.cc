// The groups of an epoch: what the job adds to them.

#include "server/core/collectives/groups.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/names/group_digest.h"
#include "common/names/operation_names.h"
#include "server/core/api/describe.h"

namespace muster::core {

absl::StatusOr<CollectiveGroup*> Groups::Find(const GroupName& name, uint32_t caller_rank) {
  if (CollectiveGroup* known = epoch()->groups().Find(name, caller_rank); known != nullptr) {
    return known;
  }
  absl::StatusOr<CollectiveGroup*> added = epoch()->AddGroup(name);
  if (!added.ok()) return added;
  NoteNodes(*added);
  // Earlier claims of this digest are of this group, even if its ranks have forgotten groups since:
  // closing a group removes its claims.
  ApplyClaimsTo(*added);
  for (uint32_t index = 0; index < name.ranks.size(); ++index) {
    (*added)->SetFirstAttempt(index, epoch()->members()[name.ranks[index]]->forgets_below);
  }
  if (members_.counts().leaving == 0) return added;
  for (uint32_t rank : (*added)->ranks()) {
    if (epoch()->members()[rank]->leaving()) (*added)->NoteLeaver(rank);
  }
  return added;
}

// Notes whether all ranks of a new group are on one node, and which of them commit there.
void Groups::NoteNodes(CollectiveGroup* group) {
  const std::vector<uint32_t>& ranks = group->ranks();
  const auto member = [this](uint32_t rank) { return epoch()->members()[rank]; };
  const std::string& node = member(ranks.front())->identity.node_id;
  const bool on_one_node = ranks.size() > 1 && std::all_of(ranks.begin(), ranks.end(), [&](auto r) {
                             return member(r)->identity.node_id == node;
                           });
  if (!on_one_node) return;
  group->SetOnOneNode();
  for (uint32_t index = 0; index < ranks.size(); ++index) {
    if (member(ranks[index])->commits_on_node) group->Trust(index);
  }
}

void Groups::TrustCommitsOf(const Member& member) {
  if (!member.commits_on_node) return;
  for (const auto& [name, group] : epoch()->groups()) {
    const std::optional<uint32_t> index = group->IndexOf(*member.rank());
    if (index) group->Trust(*index);
  }
}

// Applies what was claimed by digest, now that a call has named the ranks.
void Groups::ApplyClaimsTo(CollectiveGroup* group) {
  if (epoch()->claimed_groups().empty() || group->name().name.empty()) return;
  for (const auto& [rank, claim] : epoch()->claimed_groups().Take(group->digest())) {
    ApplyClaim(group, rank, claim.group, claim.attempt);
  }
}

// Returns whether the call is to a closed group. A call that names no ranks is to a group that its
// caller has used before.
bool Groups::IsClosed(const GroupName& name, uint32_t rank) const {
  const ClosedGroups& closed = epoch()->closed_groups();
  if (name.name.empty() || closed.size() == 0) return false;
  return name.ranks.empty() ? closed.ContainsName(name.name, rank)
                            : closed.Contains(GroupDigest(name.name, name.ranks));
}

// Checks whether a call may make the group, which is not known. UNAVAILABLE is not final: the
// caller soon hears that the group is closed, or repeats the call under a higher attempt.
absl::Status Groups::CheckMayBeNew(const Member& member, const GroupName& name,
                                   uint64_t attempt) const {
  if (IsClosed(name, *member.rank())) {
    return absl::UnavailableError(absl::StrCat("all ranks of ", DescribeGroup(name),
                                               " have released it, and some of them do not know "
                                               "that yet; the group begins anew when they do"));
  }
  if (attempt >= member.forgets_below || name.name.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("this send may belong to an earlier ", DescribeGroup(name), "; repeat it"));
}

absl::Status CheckNobodyIsLeaving(const CollectiveGroup& group, const std::string& op) {
  if (group.leavers().empty()) return absl::OkStatus();  // the usual case; every arrival asks
  const std::vector<uint32_t> leaving(group.leavers().begin(), group.leavers().end());
  return absl::FailedPreconditionError(absl::StrCat(
      op, " cannot complete: ", Ranks(leaving), " of ", ProgramGroupText(group.description()),
      leaving.size() == 1 ? " has" : " have", " called Leave"));
}

void Groups::Apply(CollectiveGroup* group, CollectiveGroup::Step step) {
  for (FinishedCall& done : step) {
    calls_.Finish(done.waiter, done.status, std::move(done.answer));
  }
  const CollectiveGroup::News news = group->TakeNews();
  if (news.finished) AnnounceFinished(*group);
  if (!news.refused.empty()) job_.Log(Severity::kWarning, news.refused);
  if (news.contributors && MayLackContributions(*group)) RequestContributions(*group);
}

void Groups::AnnounceFinished(const CollectiveGroup& group) {
  job_.Log(Severity::kError, group.finished_text());
  const SharedEvent event =
      job_.out.Share(GroupFinished{epoch()->id(), group.name(), group.finished_text()});
  for (uint32_t rank : group.ranks()) job_.Send(*epoch()->members()[rank], event);
}

void Groups::RequestContributions(const CollectiveGroup& group) {
  for (uint32_t rank : group.NeededContributors()) {
    RequestContribution(group, epoch()->members()[rank]);
  }
}

void Groups::RequestContribution(const CollectiveGroup& group, Member* member) {
  if (!member->attached() || !group.NeedsContributionOf(*group.IndexOf(*member->rank()))) return;
  const uint64_t sequence = group.sequence() - 1;
  if (!member->contributions_requested.insert({&group, sequence}).second) return;
  job_.Send(*member, job_.out.Share(NeedContribution{epoch()->id(), group.name(), sequence}));
}

void Groups::FailFor(const Member& leaver) {
  for (const auto& [name, group] : epoch()->groups()) {
    if (!group->IndexOf(*leaver.rank())) continue;
    group->NoteLeaver(*leaver.rank());
    const CurrentCollective& current = group->current();
    if (!current.pending()) continue;
    const std::string op =
        DescribeStep(current.PendingOperation(), current.sequence(), group->name());
    Apply(group.get(), group->FailParked(CheckNobodyIsLeaving(*group, op)));
  }
}

// Logs claims of groups that cannot be made, and does not return an error: that this coordinator
// has less room must not end a member.
void Groups::ApplyClaims(const Member& member, const std::vector<GroupClaim>& claims,
                         uint64_t attempt) {
  size_t refused = 0;
  absl::Status why;
  for (const GroupClaim& claim : claims) {
    const absl::Status applied = ApplyClaim(member, claim, attempt);
    if (!applied.ok() && ++refused == 1) why = applied;
  }
  if (refused == 0) return;
  job_.Log(Severity::kWarning,
           absl::StrCat("of the ", claims.size(), " groups that ", member.Describe(), " claims, ",
                        refused, " cannot be: ", why.message()),
           "group");
}

absl::Status Groups::ApplyClaim(const Member& member, const GroupClaim& claim, uint64_t attempt) {
  const absl::StatusOr<CollectiveGroup*> group = Find(claim.group, *member.rank());
  if (!group.ok()) return group.status();
  const uint32_t index = *(*group)->IndexOf(*member.rank());
  Apply(*group, (*group)->Retain(index, claim.next_sequence, attempt));
  if (!claim.finished.empty()) {
    Apply(*group, (*group)->FinishForGood(job_.out.WithoutJob(claim.finished)));
  }
  return absl::OkStatus();
}

void Groups::ApplyClaim(CollectiveGroup* group, uint32_t rank, const KnownGroup& claim,
                        uint64_t attempt) {
  const std::optional<uint32_t> index = group->IndexOf(rank);
  if (!index) return;  // the digest of a group that the rank is not in
  Apply(group, claim.released ? group->Release(*index, claim.next_sequence, attempt)
                              : group->Retain(*index, claim.next_sequence, attempt));
  if (!claim.finished.empty()) {
    Apply(group, group->FinishForGood(job_.out.WithoutJob(claim.finished)));
  }
}

void Groups::ObserveStop(uint64_t sequence) {
  const absl::StatusOr<CollectiveGroup*> world = Find(GroupName(), 0);
  if (world.ok()) (*world)->stop().Observe(sequence);
}

void Groups::RequestContributionsOf(Member* member) {
  for (const auto& [name, group] : epoch()->groups()) {
    if (!MayLackContributions(*group)) continue;
    if (group->IndexOf(*member->rank())) RequestContribution(*group, member);
  }
}

void Groups::MakeCheckpoint(Checkpoint* out) const {
  for (const auto& [name, group] : epoch()->groups()) {
    Checkpoint::Group& known = out->groups.emplace_back(
        Checkpoint::Group{name, group->sequence(), group->finished_text()});
    if (name.name.empty()) continue;
    known.heard = group->HeardRanks();
    for (const uint32_t rank : known.heard) {
      if (group->IsReleasedBy(rank)) known.released.push_back(rank);
    }
  }
  for (const std::string& digest : epoch()->claimed_groups().Digests()) {
    for (const auto& [rank, claim] : *epoch()->claimed_groups().Find(digest)) {
      out->claimed_groups.push_back({rank, claim.group});
    }
  }
}

void Groups::Restore(const Checkpoint& checkpoint) {
  for (const Checkpoint::Group& group : checkpoint.groups) Restore(group);
  for (const Checkpoint::Claimed& claimed : checkpoint.claimed_groups) {
    epoch()->claimed_groups().Note(
        claimed.rank, {claimed.group, epoch()->members()[claimed.rank]->attach_attempt});
  }
}

void Groups::Restore(const Checkpoint::Group& known) {
  const uint32_t first = known.name.ranks.empty() ? 0 : known.name.ranks.front();
  const absl::StatusOr<CollectiveGroup*> group = Find(known.name, first);
  if (!group.ok()) return;
  for (uint32_t index = 0; index < (*group)->ranks().size(); ++index) {
    (*group)->Observe(index, known.next_sequence);
  }
  if (!known.finished.empty()) (*group)->FinishForGood(known.finished);
  const auto attempt = [this](uint32_t rank) { return epoch()->members()[rank]->attach_attempt; };
  for (const uint32_t rank : known.heard) {
    (*group)->Retain(*(*group)->IndexOf(rank), known.next_sequence, attempt(rank));
  }
  for (const uint32_t rank : known.released) {
    (*group)->Release(*(*group)->IndexOf(rank), known.next_sequence, attempt(rank));
  }
}

}  // namespace muster::core
