#ifndef MUSTER_CLIENT_GLOO_NODE_MEMORY_NODE_LAYOUT_H_
#define MUSTER_CLIENT_GLOO_NODE_MEMORY_NODE_LAYOUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/gloo/node_memory/shared_collectives.h"

namespace muster::internal {

// A table of which ranks of a group share memory with each other. A "node" here is such a set of
// ranks, which may be smaller than a node of the job. All ranks compute the same table, in whatever
// order the ranks lie on the nodes. Nodes are numbered by their first ranks, and the ranks of a
// node by their order in the group. Tests: tests/client/gloo/node_layout_test.cc.
class NodeLayout {
 public:
  // `nodes` has the name of each rank's node.
  explicit NodeLayout(const std::vector<std::string>& nodes);

  // Returns this layout with some nodes split: if one rank of a node cannot share its memory, all
  // ranks of the node become nodes of one rank.
  NodeLayout WithUnsharedNodesSplit(const std::vector<bool>& can_share) const;

  int ranks() const { return static_cast<int>(places_.size()); }
  const std::vector<std::vector<int>>& nodes() const { return nodes_; }
  int node_of(int rank) const { return places_[rank].node; }
  int index_of(int rank) const { return places_[rank].index; }  // among the ranks of its node
  const std::vector<int>& neighbours_of(int rank) const { return nodes_[node_of(rank)]; }
  bool all_alone() const { return nodes_.size() == places_.size(); }

  // Returns the rank of `node` that exchanges data with `rank`. A rank of `node` is its own
  // counterpart.
  int Counterpart(int rank, int node) const;
  // Returns the ranks whose counterpart on its node is `rank`: first ranks of other nodes, then
  // itself.
  std::vector<int> ServedBy(int rank) const;

  // Divides `bytes` evenly among all nodes, and each node's share evenly among its ranks. Node
  // `except`, if not -1, gets none. Shares begin at cache lines; some may be empty.
  Pieces EvenShares(size_t bytes, int except = -1) const;

 private:
  struct Place {
    int node;
    int index;
  };

  std::vector<std::vector<int>> nodes_;
  std::vector<Place> places_;  // by rank
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_MEMORY_NODE_LAYOUT_H_
