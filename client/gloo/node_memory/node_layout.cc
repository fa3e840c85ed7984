#include "client/gloo/node_memory/node_layout.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "client/gloo/node_memory/cache_line.h"

namespace muster::internal {
namespace {

// Returns share `index` of `shares` even shares of `whole`.
Piece EvenShare(const Piece& whole, size_t index, size_t shares) {
  const size_t exact = (whole.bytes + shares - 1) / shares;
  const size_t size = (exact + kCacheLine - 1) / kCacheLine * kCacheLine;
  const size_t begin = std::min(index * size, whole.bytes);
  return {whole.offset + begin, std::min(size, whole.bytes - begin)};
}

}  // namespace

NodeLayout::NodeLayout(const std::vector<std::string>& nodes) {
  std::map<std::string, int> numbers;
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    const int node = numbers.try_emplace(nodes[rank], nodes_.size()).first->second;
    if (node == static_cast<int>(nodes_.size())) nodes_.emplace_back();
    places_.push_back({node, static_cast<int>(nodes_[node].size())});
    nodes_[node].push_back(static_cast<int>(rank));
  }
}

NodeLayout NodeLayout::WithUnsharedNodesSplit(const std::vector<bool>& can_share) const {
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks(); ++rank) {
    const std::vector<int>& all = neighbours_of(rank);
    const bool shared =
        std::all_of(all.begin(), all.end(), [&](int one) { return can_share[one]; });
    names.push_back(shared ? absl::StrCat("node ", node_of(rank)) : absl::StrCat("rank ", rank));
  }
  return NodeLayout(names);
}

int NodeLayout::Counterpart(int rank, int node) const {
  return nodes_[node][index_of(rank) % nodes_[node].size()];
}

// Starts with the node after this rank's own, so that not all ranks send to the same node at a
// time.
std::vector<int> NodeLayout::ServedBy(int rank) const {
  std::vector<int> served;
  const int count = static_cast<int>(nodes_.size());
  for (int i = 1; i < count; ++i) {
    for (const int other : nodes_[(node_of(rank) + i) % count]) {
      if (Counterpart(other, node_of(rank)) == rank) served.push_back(other);
    }
  }
  served.push_back(rank);
  return served;
}

Pieces NodeLayout::EvenShares(size_t bytes, int except) const {
  Pieces shares(ranks());
  const int count = static_cast<int>(nodes_.size());
  const int taking = except < 0 ? count : count - 1;
  int taken = 0;
  for (int node = 0; node < count; ++node) {
    if (node == except) continue;
    const Piece of_node = EvenShare({0, bytes}, taken++, taking);
    const std::vector<int>& all = nodes_[node];
    for (size_t i = 0; i < all.size(); ++i) shares[all[i]] = EvenShare(of_node, i, all.size());
  }
  return shares;
}

}  // namespace muster::internal
