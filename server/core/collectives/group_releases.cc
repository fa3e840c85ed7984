// ReleaseGroups: how groups are closed, settled and forgotten (docs/protocol-failure.md, "How
// groups are forgotten").

#include "server/core/collectives/group_releases.h"

#include <limits>
#include <set>
#include <utility>

#include "server/core/api/validation.h"

namespace muster::core {

// ---- ReleaseGroups ----

absl::Status GroupReleases::CheckContent(const Member&, const ReleaseRequest& request) const {
  return CheckRelease(request);
}

absl::Status GroupReleases::Serve(WaiterId id, Member* member, const ReleaseRequest& request) {
  if (absl::Status s = life_.CheckEpoch(*member, request.epoch); !s.ok()) return s;
  const uint64_t attempt = request.call.attempt;
  if (attempt < member->release_attempt) {
    return absl::CancelledError("a later ReleaseGroups of this process has arrived");
  }
  member->release_attempt = attempt;
  ReleaseAnswer answer;
  for (const std::string& digest : request.closed) {
    const bool known = epoch()->closed_groups().Acknowledge(digest, *member->rank());
    if (!known) answer.settled.push_back(digest);
  }
  if (!request.closed.empty()) member->forgets_below = attempt;
  for (const ReleaseRequest::Released& released : request.released) {
    const KnownGroup group{released.digest, released.next_sequence, {}, /*released=*/true, false};
    if (!NoteRelease(member, group, attempt)) answer.settled.push_back(released.digest);
  }
  calls_.Respond(id, std::move(answer));
  return absl::OkStatus();
}

bool GroupReleases::NoteRelease(Member* member, const KnownGroup& released, uint64_t attempt) {
  const uint32_t rank = *member->rank();
  if (CollectiveGroup* group = epoch()->groups().FindDigest(released.digest); group != nullptr) {
    const std::optional<uint32_t> index = group->IndexOf(rank);
    if (!index) return true;  // the digest of a group that the rank is not in
    groups_.Apply(group, group->Release(*index, released.next_sequence, attempt));
    CloseIfReleased(group);
    return true;
  }
  if (epoch()->closed_groups().Contains(released.digest)) {
    epoch()->closed_groups().RemindOutsider(released.digest, rank);
    return true;
  }
  const ClaimedGroups::ByRank* claims = epoch()->claimed_groups().Find(released.digest);
  if (claims == nullptr) return false;
  if (const auto own = claims->find(rank); own == claims->end() || own->second.attempt <= attempt) {
    epoch()->claimed_groups().Note(rank, {released, attempt});
  }
  CloseIfAllClaimantsAgree(released.digest);
  return true;
}

// ---- Closing ----

bool GroupReleases::HasRoomToClose(size_t ranks) const {
  const ClosedGroups& closed = epoch()->closed_groups();
  return closed.size() < job_.options.limits.max_groups &&
         closed.ranks() + ranks <= job_.options.limits.max_group_ranks;
}

void GroupReleases::CloseIfReleased(CollectiveGroup* group) {
  if (epoch()->broken() || group->name().name.empty() || !group->IsReleased()) return;
  const std::vector<uint32_t> heard = group->HeardRanks();
  if (!HasRoomToClose(heard.size())) {
    unclosed_.insert(group->digest());
    return;
  }
  const std::string digest = group->digest();
  const GroupName name = group->name();
  for (const uint32_t rank : group->ranks()) {
    auto& requested = epoch()->members()[rank]->contributions_requested;
    requested.erase(requested.lower_bound({group, 0}),
                    requested.upper_bound({group, std::numeric_limits<uint64_t>::max()}));
  }
  epoch()->RemoveGroup(group);
  epoch()->closed_groups().Add(digest, name, heard, /*aware=*/{});
}

// Closes a group whose ranks no call has named here, if its claimants agree. A rank that does not
// claim the group knows nothing of it.
void GroupReleases::CloseIfAllClaimantsAgree(const std::string& digest) {
  const ClaimedGroups::ByRank& claims = *epoch()->claimed_groups().Find(digest);
  if (!AnyKnowsClosed(claims) && !(AllReleased(claims) && HasRoomToClose(claims.size()))) return;
  std::vector<uint32_t> ranks;
  std::set<uint32_t> aware;
  for (const auto& [rank, claim] : epoch()->claimed_groups().Take(digest)) {
    ranks.push_back(rank);
    if (claim.group.closed) aware.insert(rank);
  }
  epoch()->closed_groups().Add(digest, {}, ranks, aware);
}

// Tries one of the groups that found no room before.
bool GroupReleases::TryCloseMore() {
  if (unclosed_.empty() || !epoch() || !HasRoomToClose(0)) return false;
  const std::string digest = *unclosed_.begin();
  unclosed_.erase(unclosed_.begin());
  CollectiveGroup* const group = epoch()->groups().FindDigest(digest);
  if (group == nullptr) return true;
  CloseIfReleased(group);
  return unclosed_.count(digest) == 0;
}

// Shares one event between ranks with the same news, which is the usual case.
void GroupReleases::SendClosings() {
  if (!epoch() || job_.draining) return;
  SharedEvent event;
  ClosedGroups::Notice latest;
  for (auto& [rank, news] : epoch()->closed_groups().TakeNotices()) {
    if (event == nullptr || !(news == latest)) {
      latest = news;
      event = job_.out.Share(
          GroupsClosed{epoch()->id(), std::move(news.closed), std::move(news.settled)});
    }
    job_.Send(*epoch()->members()[rank], event);
  }
}

// ---- Claims ----

void GroupReleases::ApplyKnownGroups(Member* member, const std::vector<KnownGroup>& groups,
                                     uint64_t attempt) {
  const uint32_t rank = *member->rank();
  const std::vector<std::string> before = epoch()->claimed_groups().Forget(rank);
  std::set<std::string> claimed;
  size_t kept = 0;
  for (const KnownGroup& group : groups) {
    if (!group.closed) claimed.insert(group.digest);
    // The groups that are left out come back with the calls to them. Only the progress of other
    // ranks in them stays unknown.
    if (life_.recovering() && ++kept > job_.options.limits.max_groups) break;
    ApplyKnownGroup(member, group, attempt);
  }
  if (!life_.recovering()) {
    for (const std::string& digest : before) {
      if (epoch()->claimed_groups().Find(digest) != nullptr) CloseIfAllClaimantsAgree(digest);
    }
  }
  epoch()->closed_groups().AcknowledgeAllBut(claimed, rank);
  member->forgets_below = attempt;
}

void GroupReleases::ApplyKnownGroup(Member* member, const KnownGroup& claim, uint64_t attempt) {
  const uint32_t rank = *member->rank();
  ClosedGroups& closed = epoch()->closed_groups();
  if (CollectiveGroup* group = epoch()->groups().FindDigest(claim.digest); group != nullptr) {
    // the group that is known here is a later one
    if (claim.closed) return closed.Settle(claim.digest, rank);
    groups_.ApplyClaim(group, rank, claim, attempt);
    return CloseIfReleased(group);
  }
  if (closed.Contains(claim.digest)) {
    if (!claim.closed) closed.Remind(claim.digest, rank);
    return;
  }
  ClaimedGroups& claims = epoch()->claimed_groups();
  if (life_.recovering() || claims.Find(claim.digest) != nullptr) {
    if (!claims.HasRoomFor(claim)) return;  // as a group beyond --max-groups
    claims.Note(rank, {claim, attempt});
    if (!life_.recovering()) CloseIfAllClaimantsAgree(claim.digest);
    return;
  }
  // No rank has called the group here, or it is forgotten.
  if (claim.released || claim.closed) closed.Settle(claim.digest, rank);
}

// Runs when all members of the epoch have made their claims. A group with a tombstone is closed for
// all claimants. A claimant that had released the group must begin anew anyway. A claimant that had
// forgotten it and called it again has completed nothing, because the member with the tombstone has
// not called the new group.
void GroupReleases::ResolveClaims() {
  if (epoch()->broken()) return;
  for (const std::string& digest : epoch()->claimed_groups().Digests()) {
    CloseIfAllClaimantsAgree(digest);
  }
}

}  // namespace muster::core
