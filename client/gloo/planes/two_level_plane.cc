#include "client/gloo/planes/two_level_plane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/gloo/connections/sigpipe_guard.h"

namespace muster::internal {
namespace {

using Kind = InterNodeMessages::Kind;

// The largest number of bytes, over all other nodes, that a first rank or a root sends alone. For
// so little data, another step would cost more than sharing the work saves.
constexpr size_t kSmallBytes = size_t{128} << 10;

using Scratch = std::unique_ptr<char[]>;

// Returns memory that is not zeroed.
Scratch MakeScratch(size_t bytes) { return Scratch(new char[bytes]); }

// The tags of the first and the second collective on a node's memory in one operation.
uint64_t FirstTag(const Operation& operation) { return operation.WideTag(); }
uint64_t SecondTag(const Operation& operation) { return ~operation.WideTag(); }

// Returns the reduction on one node. For an average this is the sum; the division comes at the end.
Reduction NodeReduction(const Operation& operation) {
  return {operation.type, operation.op == ReduceOp::kAverage ? ReduceOp::kSum : operation.op};
}

Pieces SelectPieces(const Pieces& by_rank, const std::vector<int>& ranks) {
  Pieces pieces;
  for (const int rank : ranks) pieces.push_back(by_rank[rank]);
  return pieces;
}

Pieces EvenPieces(int ranks, size_t bytes) {
  Pieces pieces;
  for (int rank = 0; rank < ranks; ++rank) pieces.push_back({rank * bytes, bytes});
  return pieces;
}

bool EveryNode(int) { return true; }

}  // namespace

struct TwoLevelPlane::CollectiveState {
  CollectiveState(const GlooContext& context, const Operation& operation, Pieces pieces)
      : operation(operation), pieces(std::move(pieces)), messages(context, operation) {}

  const Operation& operation;
  const Pieces pieces;  // by rank
  InterNodeMessages messages;
  std::vector<size_t> results;  // numbers of the receives from the other ranks in served()
};

class TwoLevelPlane::PartialResults {
 public:
  // Posts the receives of `bytes` from one rank of each other node. `senders` is by node.
  PartialResults(InterNodeMessages* messages, const std::vector<int>& senders, int own_node,
                 size_t bytes)
      : messages_(messages), bytes_(bytes), sources_(senders.size()) {
    char* next = messages_->Scratch(bytes * (senders.size() - 1));
    for (size_t node = 0; node < senders.size(); ++node) {
      if (static_cast<int>(node) == own_node) continue;
      numbers_.push_back(messages_->Receive(Kind::kPartial, senders[node], next, bytes));
      sources_[node] = next;
      next += bytes;
    }
  }

  // Combines this node's result `own` with the other nodes' results. `out` may be `own`.
  void CombineWith(const char* own, int own_node, const Operation& operation, int ranks,
                   char* out) {
    for (const size_t number : numbers_) messages_->AwaitReceived(number);
    sources_[own_node] = own;
    Combine(sources_, out, bytes_, Reduction(operation.type, operation.op), ranks);
  }

 private:
  InterNodeMessages* const messages_;
  const size_t bytes_;
  std::vector<size_t> numbers_;
  std::vector<const char*> sources_;  // by node
};

TwoLevelPlane::TwoLevelPlane(NodeLayout nodes, int rank, const GlooContext& context,
                             std::unique_ptr<NodeMemory> memory)
    : nodes_(std::move(nodes)), rank_(rank), context_(context), memory_(std::move(memory)) {
  for (const int neighbour : nodes_.neighbours_of(rank)) {
    served_.push_back(nodes_.ServedBy(neighbour));
  }
}

bool TwoLevelPlane::IsSmall(size_t bytes) const {
  return bytes * (node_count() - 1) <= kSmallBytes;
}

// ---- Reductions ----

void TwoLevelPlane::AllReduce(const Operation& operation, const void* in, void* out) {
  ReduceTo(&EveryNode, operation, in, out);
}

void TwoLevelPlane::Reduce(const Operation& operation, const void* in, void* out) {
  const Scratch scratch = rank_ == operation.peer ? nullptr : MakeScratch(operation.bytes());
  const int root_node = nodes_.node_of(operation.peer);
  ReduceTo([&](int node) { return node == root_node; }, operation, in,
           scratch == nullptr ? out : scratch.get());
}

void TwoLevelPlane::Barrier(const Operation& operation) {
  const char arrived = 0;
  char all;
  AllReduceSmall(operation, &arrived, &all, sizeof all);
}

void TwoLevelPlane::ReduceTo(NodePredicate receives, const Operation& operation, const void* in,
                             void* out) {
  const size_t bytes = operation.bytes();
  if (IsSmall(bytes)) return AllReduceSmall(operation, in, out, bytes);
  const SigpipeGuard guard;
  CollectiveState state(context_, operation, nodes_.EvenShares(bytes));
  char* const data = static_cast<char*>(out);
  if (receives(node())) PostResultReceives(&state, data);
  std::vector<char*> results;
  for (const int rank : served()) results.push_back(data + state.pieces[rank].offset);
  ReduceToOwners(&state, static_cast<const char*>(in), results);
  SendResult(&state, results.back(), receives);
  if (receives(node())) SpreadResults(&state, data);
  state.messages.AwaitSent();
}

void TwoLevelPlane::AllReduceSmall(const Operation& operation, const void* in, void* out,
                                   size_t bytes) {
  const bool first = index() == 0;
  const Scratch partial = first && !alone() ? MakeScratch(bytes) : nullptr;
  if (!alone()) {
    node_collectives().Reduce(FirstTag(operation), in, partial.get(), bytes,
                              NodeReduction(operation), 0);
  }
  const char* const own = alone() ? static_cast<const char*>(in) : partial.get();
  if (first) ExchangePartials(operation, own, static_cast<char*>(out), bytes);
  if (!alone()) node_collectives().Broadcast(SecondTag(operation), out, bytes, 0);
}

// Exchanges results among the first ranks of the nodes. `out` may be `own`.
void TwoLevelPlane::ExchangePartials(const Operation& operation, const char* own, char* out,
                                     size_t bytes) {
  const SigpipeGuard guard;
  std::vector<int> first_ranks;
  for (const std::vector<int>& ranks : nodes_.nodes()) first_ranks.push_back(ranks.front());
  InterNodeMessages messages(context_, operation);
  PartialResults partials(&messages, first_ranks, node(), bytes);
  for (int i = 1; i < node_count(); ++i) {
    messages.Send(Kind::kPartial, first_ranks[(node() + i) % node_count()], own, bytes);
  }
  messages.AwaitSent();
  partials.CombineWith(own, node(), operation, nodes_.ranks(), out);
}

void TwoLevelPlane::ReduceScatter(const Operation& operation, const void* in, void* out) {
  const SigpipeGuard guard;
  const size_t part = operation.bytes();
  CollectiveState state(context_, operation, EvenPieces(nodes_.ranks(), part));
  const size_t others = served().size() - 1;
  char* const scratch = state.messages.Scratch(alone() ? 0 : others * part);
  std::vector<char*> results;
  for (size_t i = 0; i < others; ++i) results.push_back(scratch + (alone() ? 0 : i * part));
  results.push_back(static_cast<char*>(out));
  ReduceToOwners(&state, static_cast<const char*>(in), results);
  state.messages.AwaitSent();
}

void TwoLevelPlane::ReduceToOwners(CollectiveState* state, const char* in,
                                   absl::Span<char* const> results) {
  const Piece& own = state->pieces[rank_];
  std::vector<int> senders;
  for (int other = 0; other < node_count(); ++other) {
    senders.push_back(nodes_.Counterpart(rank_, other));
  }
  PartialResults partials(&state->messages, senders, node(), own.bytes);
  alone() ? SendServedPieces(state, in) : ReduceOnNode(state, in, results);
  partials.CombineWith(alone() ? in + own.offset : results.back(), node(), state->operation,
                       nodes_.ranks(), results.back());
}

// Reduces the pieces on this node, and sends each one as soon as it is reduced.
void TwoLevelPlane::ReduceOnNode(CollectiveState* state, const char* in,
                                 absl::Span<char* const> results) {
  std::vector<Pieces> pieces;
  for (const std::vector<int>& ranks : served_)
    pieces.push_back(SelectPieces(state->pieces, ranks));
  const Pieces& own = pieces[index()];
  size_t sent = 0;
  size_t sent_bytes = 0;
  node_collectives().ReducePieces(
      FirstTag(state->operation), in, pieces, results, NodeReduction(state->operation),
      [&](size_t end) {
        for (; sent + 1 < own.size() && sent_bytes + own[sent].bytes <= end; ++sent) {
          state->messages.Send(Kind::kPartial, served()[sent], results[sent], own[sent].bytes);
          sent_bytes += own[sent].bytes;
        }
      });
}

// ---- All-gathers and broadcasts ----

void TwoLevelPlane::AllGather(const Operation& operation, const void* in, void* out) {
  GatherPieces(operation, in, EvenPieces(nodes_.ranks(), operation.bytes()), out);
}

void TwoLevelPlane::AllGatherUneven(const Operation& operation, const void* in,
                                    absl::Span<const size_t> counts, void* out) {
  Pieces pieces;
  size_t offset = 0;
  for (const size_t count : counts) {
    pieces.push_back({offset, count * SizeOf(operation.type)});
    offset += pieces.back().bytes;
  }
  GatherPieces(operation, in, std::move(pieces), out);
}

void TwoLevelPlane::GatherPieces(const Operation& operation, const void* in, Pieces pieces,
                                 void* out) {
  const SigpipeGuard guard;
  CollectiveState state(context_, operation, std::move(pieces));
  const Piece& own = state.pieces[rank_];
  char* const data = static_cast<char*>(out);
  PostResultReceives(&state, data);
  SendResult(&state, static_cast<const char*>(in), &EveryNode);
  if (in != data + own.offset && own.bytes > 0) std::memcpy(data + own.offset, in, own.bytes);
  SpreadResults(&state, data);
  state.messages.AwaitSent();
}

void TwoLevelPlane::Broadcast(const Operation& operation, void* data) {
  const SigpipeGuard guard;
  IsSmall(operation.bytes()) ? BroadcastSmall(operation, data)
                             : BroadcastInShares(operation, static_cast<char*>(data));
}

void TwoLevelPlane::BroadcastSmall(const Operation& operation, void* data) {
  const int root = operation.peer;
  const int root_node = nodes_.node_of(root);
  const size_t bytes = operation.bytes();
  InterNodeMessages messages(context_, operation);
  for (int other = 0; rank_ == root && other < node_count(); ++other) {
    if (other == root_node) continue;
    messages.Send(Kind::kResult, nodes_.nodes()[other].front(), data, bytes);
  }
  if (node() != root_node && index() == 0) {
    messages.AwaitReceived(messages.Receive(Kind::kResult, root, data, bytes));
  }
  if (!alone()) {
    const int source = node() == root_node ? nodes_.index_of(root) : 0;
    node_collectives().Broadcast(FirstTag(operation), data, bytes, source);
  }
  messages.AwaitSent();
}

void TwoLevelPlane::BroadcastInShares(const Operation& operation, char* data) {
  const int root_node = nodes_.node_of(operation.peer);
  CollectiveState state(context_, operation, nodes_.EvenShares(operation.bytes(), root_node));
  if (node() == root_node) {
    if (rank_ == operation.peer) SendServedPieces(&state, data);
    if (!alone()) {
      node_collectives().Broadcast(FirstTag(operation), data, operation.bytes(),
                                   nodes_.index_of(operation.peer));
    }
    if (rank_ != operation.peer) SendServedPieces(&state, data);
  } else {
    const Piece& own = state.pieces[rank_];
    PostResultReceives(&state, data);
    state.messages.AwaitReceived(state.messages.Receive(
        Kind::kPartial, nodes_.Counterpart(rank_, root_node), data + own.offset, own.bytes));
    SendResult(&state, data + own.offset, [&](int other) { return other != root_node; });
    SpreadResults(&state, data);
  }
  state.messages.AwaitSent();
}

void TwoLevelPlane::SendServedPieces(CollectiveState* state, const char* data) {
  for (const int rank : served()) {
    const Piece& piece = state->pieces[rank];
    if (rank != rank_) {
      state->messages.Send(Kind::kPartial, rank, data + piece.offset, piece.bytes);
    }
  }
}

void TwoLevelPlane::PostResultReceives(CollectiveState* state, char* data) {
  for (const int rank : served()) {
    const Piece& piece = state->pieces[rank];
    if (rank == rank_) continue;
    state->results.push_back(
        state->messages.Receive(Kind::kResult, rank, data + piece.offset, piece.bytes));
  }
}

void TwoLevelPlane::SendResult(CollectiveState* state, const char* own, NodePredicate receives) {
  for (int i = 1; i < node_count(); ++i) {
    const int other = (node() + i) % node_count();
    if (!receives(other)) continue;
    state->messages.Send(Kind::kResult, nodes_.Counterpart(rank_, other), own,
                         state->pieces[rank_].bytes);
  }
}

// Spreads this rank's own piece first, while the other pieces are still arriving.
void TwoLevelPlane::SpreadResults(CollectiveState* state, char* data) {
  std::vector<Pieces> pieces;
  for (const std::vector<int>& ranks : served_) {
    Pieces one = SelectPieces(state->pieces, ranks);
    std::rotate(one.begin(), one.end() - 1, one.end());
    pieces.push_back(std::move(one));
  }
  const Pieces& own = pieces[index()];
  size_t received = 0;
  size_t begin = own.front().bytes;  // of the next piece to arrive
  const auto await = [&](size_t end) {
    for (; received < state->results.size() && begin < end; ++received) {
      state->messages.AwaitReceived(state->results[received]);
      begin += own[received + 1].bytes;
    }
  };
  if (!alone()) node_collectives().SpreadPieces(SecondTag(state->operation), data, pieces, await);
  for (; received < state->results.size(); ++received)
    state->messages.AwaitReceived(state->results[received]);
}

}  // namespace muster::internal
