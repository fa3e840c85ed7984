#include "server/core/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace muster::core {
namespace {

constexpr uint32_t kNoWish = std::numeric_limits<uint32_t>::max();

bool AllAskForRanks(const std::vector<Candidate>& candidates) {
  return std::all_of(candidates.begin(), candidates.end(),
                     [](const Candidate& c) { return c.wish.rank.has_value(); });
}

// Orders nodes: requested node rank, whether it has no topology, topology, arrival of its first
// member.
using NodeOrder = std::tuple<uint32_t, bool, std::string, size_t>;

std::map<std::string, NodeOrder> OrderNodes(const std::vector<Candidate>& candidates) {
  std::map<std::string, NodeOrder> nodes;
  for (size_t arrival = 0; arrival < candidates.size(); ++arrival) {
    const PlaceWish& wish = candidates[arrival].wish;
    const NodeOrder order{wish.node_rank.value_or(kNoWish), wish.topology.empty(), wish.topology,
                          arrival};
    auto [it, inserted] = nodes.emplace(candidates[arrival].member.node_id, order);
    // A node's members may differ in what they ask for: the lowest node rank counts, the first
    // topology.
    if (!inserted) std::get<0>(it->second) = std::min(std::get<0>(it->second), std::get<0>(order));
  }
  return nodes;
}

// Indices of the candidates in rank order.
std::vector<size_t> OrderCandidates(const std::vector<Candidate>& candidates) {
  const bool by_rank = AllAskForRanks(candidates);
  const std::map<std::string, NodeOrder> nodes = OrderNodes(candidates);
  const auto key = [&](size_t arrival) {
    const Candidate& c = candidates[arrival];
    if (by_rank) return std::make_tuple(NodeOrder{*c.wish.rank, false, "", 0}, 0u, arrival);
    return std::make_tuple(nodes.at(c.member.node_id), c.wish.local_rank.value_or(kNoWish),
                           arrival);
  };
  std::vector<size_t> order(candidates.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace

Roster AssignPlaces(const std::vector<Candidate>& candidates) {
  Roster roster;
  std::map<std::string, std::pair<uint32_t, uint32_t>> nodes;  // node rank, members so far
  for (size_t index : OrderCandidates(candidates)) {
    const MemberIdentity& member = candidates[index].member;
    const uint32_t next_node = static_cast<uint32_t>(nodes.size());
    auto& [node_rank, members] = nodes.try_emplace(member.node_id, next_node, 0).first->second;
    roster.push_back({member, members++, node_rank, {}});
  }
  return roster;
}

}  // namespace muster::core
