#include "tests/fuzz/promises/collective_oracle.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace muster::fuzz {

void CollectiveOracle::Restart() {
  formed_.clear();
  sessions_.clear();
  parked_.clear();
  groups_.clear();
}

void CollectiveOracle::LearnRoster(const v1::JoinResponse& place) {
  std::vector<Rank>& roster = rosters_[place.epoch().nonce()];
  roster.clear();
  for (const v1::RosterEntry& entry : place.roster()) {
    roster.push_back({entry.member().incarnation(), entry.member().node_id()});
  }
}

void CollectiveOracle::LearnSession(uint64_t session, const std::string& incarnation) {
  sessions_[session] = incarnation;
}

void CollectiveOracle::Sent(core::WaiterId call, const core::CollectiveRequest& request,
                            bool names) {
  const auto session = sessions_.find(request.call.session.counter);
  if (session == sessions_.end()) return;
  const core::GroupName group = GroupOf(request.epoch.nonce, request.group, session->second);
  parked_[call] = {{request.epoch.nonce, group, request.sequence}, session->second, names};
}

core::GroupName CollectiveOracle::GroupOf(uint64_t nonce, const core::GroupName& named,
                                          const std::string& incarnation) const {
  if (named.name.empty() || !named.ranks.empty()) return named;
  const auto roster = rosters_.find(nonce);
  if (roster == rosters_.end()) return named;
  for (const auto& [of, group] : groups_) {
    if (of != nonce || group.name != named.name) continue;
    for (const uint32_t rank : group.ranks) {
      if (roster->second.at(rank).incarnation == incarnation) return group;
    }
  }
  return named;
}

std::string CollectiveOracle::Answered(const std::vector<core::Reply>& replies) {
  LearnGroups(replies);
  std::string wrong;
  for (const core::Reply& reply : replies) {
    const auto call = parked_.find(reply.waiter);
    if (call == parked_.end() || !reply.status.ok() || !wrong.empty()) continue;
    const Key key = Resolved(call->second);
    const core::GroupName& group = std::get<1>(key);
    const bool known = group.name.empty() || !group.ranks.empty();
    // The daemon may know the group from a claim. A call with ranks that is repeated later was then
    // completed before.
    const bool earlier = complete_.count(ByName(key)) > 0;
    if (!complete_.insert(key).second || earlier || !known) continue;
    if (formed_.count(std::get<0>(key)) == 0) continue;
    if (commits_on_node_ && IsOnOneNode(key)) continue;
    wrong = CheckAllPresent(key);
  }
  for (const core::Reply& reply : replies) parked_.erase(reply.waiter);
  return wrong;
}

// Learns groups from the accepted calls: they are parked, or answered in this step.
void CollectiveOracle::LearnGroups(const std::vector<core::Reply>& replies) {
  std::set<core::WaiterId> refused;
  for (const core::Reply& reply : replies) {
    if (!reply.status.ok()) refused.insert(reply.waiter);
  }
  for (const auto& [call, parked] : parked_) {
    const auto& [nonce, group, sequence] = parked.key;
    const bool names = parked.names && formed_.count(nonce) > 0 && !group.ranks.empty();
    if (names && refused.count(call) == 0) groups_.emplace(nonce, group);
  }
}

CollectiveOracle::Key CollectiveOracle::ByName(const Key& key) {
  const auto& [nonce, group, sequence] = key;
  return {nonce, {group.name, {}}, sequence};
}

// Returns the key with ranks. They may have been unknown when the call arrived.
CollectiveOracle::Key CollectiveOracle::Resolved(const Parked& parked) const {
  const auto& [nonce, group, sequence] = parked.key;
  return {nonce, GroupOf(nonce, group, parked.incarnation), sequence};
}

std::vector<uint32_t> CollectiveOracle::RanksOf(const Key& key) const {
  const auto& [nonce, group, sequence] = key;
  std::vector<uint32_t> ranks = group.ranks;
  if (group.name.empty()) {
    ranks.resize(rosters_.at(nonce).size());
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  return ranks;
}

bool CollectiveOracle::IsOnOneNode(const Key& key) const {
  const std::vector<Rank>& roster = rosters_.at(std::get<0>(key));
  std::set<std::string> nodes;
  for (const uint32_t rank : RanksOf(key)) nodes.insert(roster.at(rank).node);
  return nodes.size() == 1;
}

std::string CollectiveOracle::CheckAllPresent(const Key& key) const {
  const auto& [nonce, group, sequence] = key;
  const std::vector<Rank>& roster = rosters_.at(nonce);
  for (const uint32_t rank : RanksOf(key)) {
    if (IsPresent(key, roster.at(rank).incarnation)) continue;
    return absl::StrCat("op ", sequence, " of '", group.name, "' completes without rank ", rank);
  }
  return "";
}

// A call without ranks means the only group of that name that its caller is in.
bool CollectiveOracle::IsPresent(const Key& key, const std::string& incarnation) const {
  const Key by_name = ByName(key);
  return std::any_of(parked_.begin(), parked_.end(), [&](const auto& call) {
    return (call.second.key == key || call.second.key == by_name) &&
           call.second.incarnation == incarnation;
  });
}

}  // namespace muster::fuzz
