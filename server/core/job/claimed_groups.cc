#include "server/core/job/claimed_groups.h"

#include <algorithm>

namespace muster::core {

void ClaimedGroups::Note(uint32_t rank, Claim claim) {
  ByRank& claims = groups_[claim.group.digest];
  claims.insert_or_assign(rank, std::move(claim));
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
