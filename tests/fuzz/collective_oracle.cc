#include "tests/fuzz/collective_oracle.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::fuzz {

void CollectiveOracle::Restart() {
  formed_.clear();
  sessions_.clear();
  parked_.clear();
}

void CollectiveOracle::LearnRoster(const v1::JoinResponse& place) {
  std::vector<std::string>& roster = rosters_[place.epoch().nonce()];
  roster.clear();
  for (const v1::RosterEntry& entry : place.roster()) {
    roster.push_back(entry.member().incarnation());
  }
}

void CollectiveOracle::LearnSession(uint64_t session, const std::string& incarnation) {
  sessions_[session] = incarnation;
}

void CollectiveOracle::Sent(core::WaiterId call, const core::CollectiveRequest& request) {
  const auto session = sessions_.find(request.call.session.counter);
  if (session == sessions_.end()) return;
  parked_[call] = {{request.epoch.nonce, request.group, request.sequence}, session->second};
}

std::string CollectiveOracle::Answered(const std::vector<core::Reply>& replies) {
  std::string wrong;
  for (const core::Reply& reply : replies) {
    const auto call = parked_.find(reply.waiter);
    if (call == parked_.end() || !reply.status.ok() || !wrong.empty()) continue;
    const Key& key = call->second.key;
    if (formed_.count(std::get<0>(key)) > 0 && complete_.insert(key).second) {
      wrong = CheckAllPresent(key);
    }
  }
  for (const core::Reply& reply : replies) parked_.erase(reply.waiter);
  return wrong;
}

std::string CollectiveOracle::CheckAllPresent(const Key& key) const {
  const auto& [nonce, group, sequence] = key;
  const std::vector<std::string>& roster = rosters_.at(nonce);
  std::vector<uint32_t> ranks = group.ranks;
  for (uint32_t rank = 0; group.name.empty() && rank < roster.size(); ++rank) ranks.push_back(rank);
  for (const uint32_t rank : ranks) {
    if (IsPresent(key, roster.at(rank))) continue;
    return absl::StrCat("op ", sequence, " of '", group.name, "' completes without rank ", rank);
  }
  return "";
}

bool CollectiveOracle::IsPresent(const Key& key, const std::string& incarnation) const {
  return std::any_of(parked_.begin(), parked_.end(), [&](const auto& call) {
    return call.second.key == key && call.second.incarnation == incarnation;
  });
}

}  // namespace muster::fuzz
