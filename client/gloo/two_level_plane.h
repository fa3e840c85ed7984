#ifndef MUSTER_CLIENT_GLOO_TWO_LEVEL_PLANE_H_
#define MUSTER_CLIENT_GLOO_TWO_LEVEL_PLANE_H_

#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/gloo/collective_plane.h"
#include "client/gloo/collectives.h"
#include "client/gloo/node_layout.h"
#include "client/gloo/node_memory.h"
#include "client/gloo/node_messages.h"

namespace muster::internal {

// The collectives of a communicator over several nodes, on some of which ranks share memory. What
// can be done within a node is done in its memory; between nodes each rank sends to, and receives
// from, its counterpart on each other node, so that all connections and processors have their
// share.
//
//   reduce-scatter  the ranks of a node reduce, in its memory, each what belongs to itself and to
//                   the ranks that it serves on other nodes, and send that there; whoever it
//                   belongs to reduces what comes from the nodes
//   all-gather      each sends its own to its counterparts; then the ranks of a node spread what
//                   they have and have got through its memory
//   all-reduce      the first, then the second, on even shares; a small one is reduced to the first
//                   rank of each node, and exchanged by those; a reduce likewise, but for who is
//                   sent the result
//   broadcast       the node that has the data sends each rank of the others a share; then they do
//                   as in an all-gather; a small one goes to the first rank of each node
//
// Reductions combine the ranks of a node in their order, and then the nodes in theirs: for every
// element, whatever the size, so that all ranks have the same bits, and have them again.
class TwoLevelPlane final : public CollectivePlane {
 public:
  // `context` must be there for as long as calls are made. `memory` is null for a rank that is
  // alone on its node.
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
  // One collective on a piece of each rank.
  struct Call;
  // What the other nodes have reduced of what this rank reduces to the end.
  class Partials;

  // The ranks of the nodes that `receives` says yes to have the result. `out` is a place for all of
  // it on the others, too.
  using Nodes = absl::FunctionRef<bool(int node)>;
  void ReduceTo(Nodes receives, const Operation& operation, const void* in, void* out);
  void AllReduceAtOnce(const Operation& operation, const void* in, void* out, size_t bytes);
  void ExchangePartials(const Operation& operation, const char* own, char* out, size_t bytes);
  void BroadcastAtOnce(const Operation& operation, void* data);
  void BroadcastInShares(const Operation& operation, char* data);
  void GatherPieces(const Operation& operation, const void* in, Pieces pieces, void* out);

  // `results` has a place for the reduction of each piece that this rank serves.
  void ReduceToOwners(Call* call, const char* in, absl::Span<char* const> results);
  void ReduceOnNode(Call* call, const char* in, absl::Span<char* const> results);
  // Sends what the others of served() own.
  void SendServed(Call* call, const char* data);
  void ExpectResults(Call* call, char* data);
  // To the counterparts of this rank on these nodes.
  void SendResult(Call* call, const char* own, Nodes receives);
  void SpreadResults(Call* call, char* data);

  bool IsSmall(size_t bytes) const;
  int node() const { return nodes_.node_of(rank_); }
  int index() const { return nodes_.index_of(rank_); }
  int node_count() const { return static_cast<int>(nodes_.nodes().size()); }
  bool alone() const { return memory_ == nullptr; }
  const std::vector<int>& served() const { return served_[index()]; }
  SharedCollectives& on_node() { return memory_->collectives(); }

  const NodeLayout nodes_;
  const int rank_;
  const GlooContext& context_;
  const std::unique_ptr<NodeMemory> memory_;
  std::vector<std::vector<int>> served_;  // by each rank of this node; itself comes last
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_TWO_LEVEL_PLANE_H_
