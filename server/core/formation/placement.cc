#include "server/core/formation/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace muster::core {
namespace {

constexpr uint32_t kUnconstrained = std::numeric_limits<uint32_t>::max();

bool AllAskForRanks(const std::vector<Candidate>& candidates) {
  return std::all_of(candidates.begin(), candidates.end(),
                     [](const Candidate& c) { return c.constraints.rank.has_value(); });
}

// An order of nodes: by requested node rank, then nodes with a topology first, then by topology,
// then by the arrival of their first member.
using NodeOrder = std::tuple<uint32_t, bool, std::string, size_t>;

std::map<std::string, NodeOrder> OrderNodes(const std::vector<Candidate>& candidates) {
  std::map<std::string, NodeOrder> nodes;
  for (size_t arrival = 0; arrival < candidates.size(); ++arrival) {
    const PlacementConstraints& constraints = candidates[arrival].constraints;
    const NodeOrder order{constraints.node_rank.value_or(kUnconstrained),
                          constraints.topology.empty(), constraints.topology, arrival};
    auto [it, inserted] = nodes.emplace(candidates[arrival].member.node_id, order);
    // Members of a node may differ in what they ask for. The lowest node rank and the first
    // topology count.
    if (!inserted) std::get<0>(it->second) = std::min(std::get<0>(it->second), std::get<0>(order));
  }
  return nodes;
}

// Returns the indices of the candidates in rank order.
std::vector<size_t> OrderCandidates(const std::vector<Candidate>& candidates) {
  const bool by_rank = AllAskForRanks(candidates);
  const std::map<std::string, NodeOrder> nodes = OrderNodes(candidates);
  const auto key = [&](size_t arrival) {
    const Candidate& c = candidates[arrival];
    if (by_rank) return std::make_tuple(NodeOrder{*c.constraints.rank, false, "", 0}, 0u, arrival);
    return std::make_tuple(nodes.at(c.member.node_id),
                           c.constraints.local_rank.value_or(kUnconstrained), arrival);
  };
  std::vector<size_t> order(candidates.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  return order;
}

// Numbers nodes by their first rank, and the members of a node by rank.
void NumberNodes(Roster* roster) {
  std::map<std::string, std::pair<uint32_t, uint32_t>> nodes;  // node rank, members so far
  for (RosterEntry& entry : *roster) {
    const uint32_t next_node = static_cast<uint32_t>(nodes.size());
    auto& [node_rank, members] =
        nodes.try_emplace(entry.member.node_id, next_node, 0).first->second;
    entry.local_rank = members++;
    entry.node_rank = node_rank;
  }
}

// Returns each survivor's rank among `size`: its old rank, or a lower one if the later survivors
// would find no room above it. The first survivor gets rank 0.
std::vector<uint32_t> RanksOf(const std::vector<Survivor>& survivors, uint32_t size) {
  std::vector<uint32_t> ranks;
  for (size_t i = 0; i < survivors.size(); ++i) {
    const uint32_t highest = size - static_cast<uint32_t>(survivors.size() - i);
    const uint32_t lowest = ranks.empty() ? 0 : ranks.back() + 1;
    ranks.push_back(i == 0 ? 0 : std::max(lowest, std::min(survivors[i].previous_rank, highest)));
  }
  return ranks;
}

}  // namespace

Roster AssignPlaces(const std::vector<Candidate>& candidates) {
  Roster roster;
  for (size_t index : OrderCandidates(candidates)) {
    roster.push_back({candidates[index].member, 0, 0, {}, candidates[index].constraints.topology});
  }
  NumberNodes(&roster);
  return roster;
}

Roster ReassignPlaces(const std::vector<Survivor>& survivors,
                      const std::vector<Candidate>& newcomers, const Roster& previous) {
  Roster roster(survivors.size() + newcomers.size());
  const std::vector<uint32_t> kept = RanksOf(survivors, static_cast<uint32_t>(roster.size()));
  std::set<uint32_t> vacant;
  for (uint32_t rank = 0; rank < roster.size(); ++rank) vacant.insert(rank);
  for (size_t i = 0; i < survivors.size(); ++i) {
    const uint32_t rank = survivors[i].previous_rank;
    roster[kept[i]] = {survivors[i].member, 0, 0, rank,
                       rank < previous.size() ? previous[rank].topology : ""};
    vacant.erase(kept[i]);
  }
  std::vector<const Candidate*> waiting;
  for (const Candidate& newcomer : newcomers) waiting.push_back(&newcomer);
  const auto place = [&](const auto& fits) {
    for (const Candidate*& newcomer : waiting) {
      if (newcomer == nullptr) continue;
      const auto rank = std::find_if(vacant.begin(), vacant.end(),
                                     [&](uint32_t r) { return fits(*newcomer, r); });
      if (rank == vacant.end()) continue;
      roster[*rank] = {newcomer->member, 0, 0, {}, newcomer->constraints.topology};
      vacant.erase(rank);
      newcomer = nullptr;
    }
  };
  place([](const Candidate& c, uint32_t r) { return c.constraints.rank == r; });
  place([&](const Candidate& c, uint32_t r) {
    return r < previous.size() && previous[r].member.node_id == c.member.node_id;
  });
  place([](const Candidate&, uint32_t) { return true; });
  NumberNodes(&roster);
  return roster;
}

}  // namespace muster::core
