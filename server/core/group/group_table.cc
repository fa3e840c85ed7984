#include "server/core/group/group_table.h"

#include <utility>

namespace muster::core {

CollectiveGroup* GroupTable::Find(const GroupName& name, uint32_t rank) const {
  CollectiveGroup* found = world_;
  if (!name.name.empty()) {
    const auto same = by_name_.find(name.name);
    if (same == by_name_.end()) return nullptr;
    const auto of_rank = same->second.find(rank);
    found = of_rank == same->second.end() ? nullptr : of_rank->second;
  }
  if (found == nullptr) return nullptr;
  return name.ranks.empty() || found->name() == name ? found : nullptr;
}

const CollectiveGroup* GroupTable::Overlapping(const GroupName& name) const {
  const auto same = by_name_.find(name.name);
  if (same == by_name_.end()) return nullptr;
  for (uint32_t rank : name.ranks) {
    if (const auto of_rank = same->second.find(rank); of_rank != same->second.end()) {
      return of_rank->second;
    }
  }
  return nullptr;
}

CollectiveGroup* GroupTable::Add(std::unique_ptr<CollectiveGroup> group) {
  CollectiveGroup* const added = group.get();
  const GroupName& name = added->name();
  if (name.name.empty()) {
    world_ = added;
  } else {
    ByRank& by_rank = by_name_[name.name];
    for (uint32_t rank : name.ranks) by_rank[rank] = added;
    by_digest_[added->digest()] = added;
  }
  named_ranks_ += name.ranks.size();
  groups_.emplace(name, std::move(group));
  return added;
}

CollectiveGroup* GroupTable::FindDigest(const std::string& digest) const {
  const auto found = by_digest_.find(digest);
  return found == by_digest_.end() ? nullptr : found->second;
}

void GroupTable::Remove(const CollectiveGroup* group) {
  const GroupName name = group->name();
  const auto by_rank = by_name_.find(name.name);
  for (uint32_t rank : name.ranks) by_rank->second.erase(rank);
  if (by_rank->second.empty()) by_name_.erase(by_rank);
  by_digest_.erase(group->digest());
  named_ranks_ -= name.ranks.size();
  groups_.erase(name);
}

}  // namespace muster::core
