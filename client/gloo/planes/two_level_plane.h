#ifndef MUSTER_CLIENT_GLOO_PLANES_TWO_LEVEL_PLANE_H_
#define MUSTER_CLIENT_GLOO_PLANES_TWO_LEVEL_PLANE_H_

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/gloo/collectives/collective_plane.h"
#include "client/gloo/collectives/gloo_collectives.h"
#include "client/gloo/node_memory/node_layout.h"
#include "client/gloo/node_memory/node_memory.h"
#include "client/gloo/planes/inter_node_messages.h"

namespace muster::internal {

// A plane for a communicator over several nodes, if ranks share memory on some of them. Work within
// a node goes through its memory. Between nodes, each rank exchanges data with its counterpart on
// each other node, so all connections and processors carry a share.
//
//   reduce-scatter  On each node, every rank reduces, in memory, its own part and the parts of the
//                   ranks that it serves on other nodes, and sends each part to its owner. The
//                   owner of a part combines the results of all nodes.
//   all-gather      Each rank sends its part to its counterparts. Then the ranks of a node spread
//                   their own and the received parts through its memory.
//   all-reduce      A reduce-scatter on even shares, then an all-gather. If it is small, the first
//                   rank of each node gets the node's reduction, and the first ranks exchange it.
//   reduce          As an all-reduce, but only the root's node receives the result.
//   broadcast       The root's node sends each rank of the other nodes a share, and these do an
//                   all-gather. If it is small, the root sends it to the first rank of each node.
//
// Reductions combine the ranks of a node in their order, and then the nodes in theirs, for every
// element and whatever the size. So all ranks get the same bits, on every run.
//
// Example: ranks 0, 1 and 2 are on node A, ranks 3 and 4 on node B. Rank 3 serves ranks 0 and 2,
// rank 4 serves rank 1; ranks 0 and 1 serve ranks 3 and 4, and rank 2 serves only itself.
class TwoLevelPlane final : public CollectivePlane {
 public:
  // `context` must outlive all calls. `memory` is null for a rank that is alone on its node.
  TwoLevelPlane(NodeLayout nodes, int rank, const GlooContext& context,
                std::unique_ptr<NodeMemory> memory);

  void AllReduce(const Operation& operation, const void* in, void* out) override;
  void Reduce(const Operation& operation, const void* in, void* out) override;
  void Broadcast(const Operation& operation, void* data) override;
  void AllGather(const Operation& operation, const void* in, void* out) override;
  void AllGatherUneven(const Operation& operation, const void* in, absl::Span<const size_t> counts,
                       void* out) override;
  void ReduceScatter(const Operation& operation, const void* in, void* out) override;
  void Barrier(const Operation& operation) override;

 private:
  // The state of one collective in which each rank has a piece.
  struct CollectiveState;
  // The other nodes' reductions of the piece that this rank owns.
  class PartialResults;

  // The nodes, as a predicate, whose ranks get the result. On the other nodes' ranks, `out` must
  // have room for the whole result too.
  using NodePredicate = absl::FunctionRef<bool(int node)>;
  void ReduceTo(NodePredicate receives, const Operation& operation, const void* in, void* out);
  void AllReduceSmall(const Operation& operation, const void* in, void* out, size_t bytes);
  void ExchangePartials(const Operation& operation, const char* own, char* out, size_t bytes);
  void BroadcastSmall(const Operation& operation, void* data);
  void BroadcastInShares(const Operation& operation, char* data);
  void GatherPieces(const Operation& operation, const void* in, Pieces pieces, void* out);

  // `results` has a place for the reduction of each piece that this rank serves, its own last.
  void ReduceToOwners(CollectiveState* state, const char* in, absl::Span<char* const> results);
  void ReduceOnNode(CollectiveState* state, const char* in, absl::Span<char* const> results);
  // Sends the pieces of the other ranks in served() to these ranks.
  void SendServedPieces(CollectiveState* state, const char* data);
  void PostResultReceives(CollectiveState* state, char* data);
  // Sends this rank's piece to its counterparts on the nodes in `receives`.
  void SendResult(CollectiveState* state, const char* own, NodePredicate receives);
  void SpreadResults(CollectiveState* state, char* data);

  bool IsSmall(size_t bytes) const;
  int node() const { return nodes_.node_of(rank_); }
  int index() const { return nodes_.index_of(rank_); }
  int node_count() const { return static_cast<int>(nodes_.nodes().size()); }
  bool alone() const { return memory_ == nullptr; }
  const std::vector<int>& served() const { return served_[index()]; }
  SharedCollectives& node_collectives() { return memory_->collectives(); }

  const NodeLayout nodes_;
  const int rank_;
  const GlooContext& context_;
  const std::unique_ptr<NodeMemory> memory_;
  std::vector<std::vector<int>> served_;  // by rank of this node; itself last
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_PLANES_TWO_LEVEL_PLANE_H_
