#include "server/core/job/closed_groups.h"

#include <algorithm>
#include <iterator>

namespace muster::core {

void ClosedGroups::Add(const std::string& digest, const GroupName& name,
                       const std::vector<uint32_t>& ranks, const std::set<uint32_t>& aware) {
  Group group;
  group.name = name.name;
  group.ranks.insert(ranks.begin(), ranks.end());
  std::set_difference(group.ranks.begin(), group.ranks.end(), aware.begin(), aware.end(),
                      std::inserter(group.unaware, group.unaware.end()));
  for (const uint32_t rank : group.unaware) notices_[rank].closed.push_back(digest);
  ranks_ += group.ranks.size();
  if (!group.name.empty()) by_name_[group.name].insert(digest);
  SettleIfKnown(groups_.emplace(digest, std::move(group)).first);
}

bool ClosedGroups::ContainsName(const std::string& name, uint32_t rank) const {
  const auto same = by_name_.find(name);
  if (same == by_name_.end()) return false;
  return std::any_of(same->second.begin(), same->second.end(), [&](const std::string& digest) {
    return groups_.at(digest).ranks.count(rank) > 0;
  });
}

bool ClosedGroups::Acknowledge(const std::string& digest, uint32_t rank) {
  const auto group = groups_.find(digest);
  if (group == groups_.end()) return false;
  if (group->second.unaware.erase(rank) > 0) SettleIfKnown(group);
  return true;
}

void ClosedGroups::Remind(const std::string& digest, uint32_t rank) {
  const auto group = groups_.find(digest);
  if (group == groups_.end()) return;
  ranks_ += group->second.ranks.insert(rank).second;
  group->second.unaware.insert(rank);
  notices_[rank].closed.push_back(digest);
}

void ClosedGroups::RemindOutsider(const std::string& digest, uint32_t rank) {
  const auto group = groups_.find(digest);
  const bool is_stranger = group != groups_.end() && group->second.ranks.count(rank) == 0;
  if (is_stranger) Remind(digest, rank);
}

void ClosedGroups::AcknowledgeAllBut(const std::set<std::string>& claimed, uint32_t rank) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    const bool knows = claimed.count(group->first) == 0 && group->second.unaware.erase(rank) > 0;
    group = knows ? SettleIfKnown(group) : std::next(group);
  }
}

// Returns the iterator after the group, which may be erased.
ClosedGroups::Groups::iterator ClosedGroups::SettleIfKnown(Groups::iterator group) {
  if (!group->second.unaware.empty()) return std::next(group);
  for (const uint32_t rank : group->second.ranks) notices_[rank].settled.push_back(group->first);
  ranks_ -= group->second.ranks.size();
  if (const auto same = by_name_.find(group->second.name); same != by_name_.end()) {
    same->second.erase(group->first);
    if (same->second.empty()) by_name_.erase(same);
  }
  return groups_.erase(group);
}

}  // namespace muster::core
