#ifndef MUSTER_CLIENT_GLOO_NODE_LAYOUT_H_
#define MUSTER_CLIENT_GLOO_NODE_LAYOUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/gloo/shared_collectives.h"

namespace muster::internal {

// Which ranks of a group share memory with each other: the nodes, as the data plane has them. The
// same on all ranks, in whatever order these lie on the nodes. Nodes are numbered by their first
// ranks, the ranks of a node by their order in the group.
class NodeLayout {
 public:
  // `nodes` has a name of each rank's.
  explicit NodeLayout(const std::vector<std::string>& nodes);

  // The same where ranks of a node are alone, each, if one of them cannot share its memory.
  NodeLayout WhereAll(const std::vector<bool>& can_share) const;

  int ranks() const { return static_cast<int>(places_.size()); }
  const std::vector<std::vector<int>>& nodes() const { return nodes_; }
  int node_of(int rank) const { return places_[rank].node; }
  int index_of(int rank) const { return places_[rank].index; }  // among those of its node
  const std::vector<int>& neighbours_of(int rank) const { return nodes_[node_of(rank)]; }
  bool all_alone() const { return nodes_.size() == places_.size(); }

  // Who of `node` deals with `rank`: itself, where it is one of that node.
  int Counterpart(int rank, int node) const;
  // Those whose counterpart on its own node `rank` is: of other nodes first, then itself.
  std::vector<int> ServedBy(int rank) const;

  // Shares `bytes` out to all nodes but `except`, if that is one, evenly, and what a node has to
  // its ranks. Shares begin at cache lines; some may be empty.
  Pieces SharesOf(size_t bytes, int except = -1) const;

 private:
  struct Place {
    int node;
    int index;
  };

  std::vector<std::vector<int>> nodes_;
  std::vector<Place> places_;  // by rank
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_LAYOUT_H_
