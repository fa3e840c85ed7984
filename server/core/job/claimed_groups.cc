#include "server/core/job/claimed_groups.h"

#include <algorithm>

namespace muster::core {
namespace {

uint64_t BytesOf(const KnownGroup& group) {
  return sizeof(KnownGroup) + group.digest.size() + group.finished.size();
}

}  // namespace

bool ClaimedGroups::HasRoomFor(const KnownGroup& group) const {
  return charge_.budget().Check(BytesOf(group)).ok();
}

void ClaimedGroups::Note(uint32_t rank, Claim claim) {
  ByRank& claims = groups_[claim.group.digest];
  if (const auto earlier = claims.find(rank); earlier != claims.end()) {
    charge_.Set(charge_.bytes() - BytesOf(earlier->second.group));
  }
  charge_.Set(charge_.bytes() + BytesOf(claim.group));
  digests_[rank].insert(claim.group.digest);
  claims.insert_or_assign(rank, std::move(claim));
}

std::vector<std::string> ClaimedGroups::Forget(uint32_t rank) {
  const auto known = digests_.find(rank);
  if (known == digests_.end()) return {};
  std::vector<std::string> forgotten(known->second.begin(), known->second.end());
  digests_.erase(known);
  for (const std::string& digest : forgotten) {
    const auto found = groups_.find(digest);
    const auto claim = found->second.find(rank);
    charge_.Set(charge_.bytes() - BytesOf(claim->second.group));
    found->second.erase(claim);
    if (found->second.empty()) groups_.erase(found);
  }
  return forgotten;
}

const ClaimedGroups::ByRank* ClaimedGroups::Find(const std::string& digest) const {
  const auto found = groups_.find(digest);
  return found == groups_.end() ? nullptr : &found->second;
}

ClaimedGroups::ByRank ClaimedGroups::Take(const std::string& digest) {
  const auto found = groups_.find(digest);
  if (found == groups_.end()) return {};
  ByRank taken = std::move(found->second);
  groups_.erase(found);
  for (const auto& [rank, claim] : taken) {
    charge_.Set(charge_.bytes() - BytesOf(claim.group));
    const auto known = digests_.find(rank);
    known->second.erase(digest);
    if (known->second.empty()) digests_.erase(known);
  }
  return taken;
}

// Sorts them, so that nothing depends on the order of a hash table.
std::vector<std::string> ClaimedGroups::Digests() const {
  std::vector<std::string> digests;
  digests.reserve(groups_.size());
  for (const auto& [digest, claims] : groups_) digests.push_back(digest);
  std::sort(digests.begin(), digests.end());
  return digests;
}

bool AnyKnowsClosed(const ClaimedGroups::ByRank& claims) {
  return std::any_of(claims.begin(), claims.end(),
                     [](const auto& entry) { return entry.second.group.closed; });
}

bool AllReleased(const ClaimedGroups::ByRank& claims) {
  if (claims.empty()) return false;
  const uint64_t next = claims.begin()->second.group.next_sequence;
  return std::all_of(claims.begin(), claims.end(), [next](const auto& entry) {
    const KnownGroup& group = entry.second.group;
    return group.released && group.finished.empty() && group.next_sequence == next;
  });
}

}  // namespace muster::core
