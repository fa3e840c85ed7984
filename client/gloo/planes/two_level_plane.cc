#include "client/gloo/planes/two_level_plane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/gloo/connections/sigpipe_guard.h"

namespace muster::internal {
namespace {

using Kind = NodeMessages::Kind;

// The largest number of bytes, over all other nodes, that a first rank or a root sends alone. For
// so little data, another step would cost more than sharing the work saves.
constexpr size_t kAtOnce = size_t{128} << 10;

using Scratch = std::unique_ptr<char[]>;

// Returns memory that is not zeroed.
Scratch MakeScratch(size_t bytes) { return Scratch(new char[bytes]); }

// The tags of the first and the second collective on a node's memory in one call.
uint64_t FirstTag(const Operation& operation) { return operation.WideTag(); }
uint64_t SecondTag(const Operation& operation) { return ~operation.WideTag(); }

// Returns the reduction on one node. For an average this is the sum; the division comes at the end.
Reduction SumOf(const Operation& operation) {
  return {operation.type, operation.op == ReduceOp::kAverage ? ReduceOp::kSum : operation.op};
}

Pieces PiecesOf(const Pieces& by_rank, const std::vector<int>& ranks) {
  Pieces pieces;
  for (const int rank : ranks) pieces.push_back(by_rank[rank]);
  return pieces;
}

Pieces EvenPieces(int ranks, size_t bytes) {
  Pieces pieces;
  for (int rank = 0; rank < ranks; ++rank) pieces.push_back({rank * bytes, bytes});
  return pieces;
}

bool OnAll(int) { return true; }

}  // namespace

struct TwoLevelPlane::Call {
  Call(const GlooContext& context, const Operation& operation, Pieces pieces)
      : operation(operation), pieces(std::move(pieces)), messages(context, operation) {}

  const Operation& operation;
  const Pieces pieces;  // by rank
  NodeMessages messages;
  std::vector<size_t> results;  // numbers of the receives from the other ranks in served()
};

class TwoLevelPlane::Partials {
 public:
  // Posts the receives of `bytes` from one rank of each other node. `senders` is by node.
  Partials(NodeMessages* messages, const std::vector<int>& senders, int own_node, size_t bytes)
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
  NodeMessages* const messages_;
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

bool TwoLevelPlane::IsSmall(size_t bytes) const { return bytes * (node_count() - 1) <= kAtOnce; }

// ---- Reductions ----

void TwoLevelPlane::AllReduce(const Operation& operation, const void* in, void* out) {
  ReduceTo(&OnAll, operation, in, out);
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
  AllReduceAtOnce(operation, &arrived, &all, sizeof all);
}

void TwoLevelPlane::ReduceTo(Nodes receives, const Operation& operation, const void* in,
                             void* out) {
  const size_t bytes = operation.bytes();
  if (IsSmall(bytes)) return AllReduceAtOnce(operation, in, out, bytes);
  const SigpipeGuard guard;
  Call call(context_, operation, nodes_.SharesOf(bytes));
  char* const data = static_cast<char*>(out);
  if (receives(node())) ExpectResults(&call, data);
  std::vector<char*> results;
  for (const int rank : served()) results.push_back(data + call.pieces[rank].offset);
  ReduceToOwners(&call, static_cast<const char*>(in), results);
  SendResult(&call, results.back(), receives);
  if (receives(node())) SpreadResults(&call, data);
  call.messages.AwaitSent();
}

void TwoLevelPlane::AllReduceAtOnce(const Operation& operation, const void* in, void* out,
                                    size_t bytes) {
  const bool first = index() == 0;
  const Scratch partial = first && !alone() ? MakeScratch(bytes) : nullptr;
  if (!alone()) {
    on_node().Reduce(FirstTag(operation), in, partial.get(), bytes, SumOf(operation), 0);
  }
  const char* const own = alone() ? static_cast<const char*>(in) : partial.get();
  if (first) ExchangePartials(operation, own, static_cast<char*>(out), bytes);
  if (!alone()) on_node().Broadcast(SecondTag(operation), out, bytes, 0);
}

// Exchanges results among the first ranks of the nodes. `out` may be `own`.
void TwoLevelPlane::ExchangePartials(const Operation& operation, const char* own, char* out,
                                     size_t bytes) {
  const SigpipeGuard guard;
  std::vector<int> firsts;
  for (const std::vector<int>& ranks : nodes_.nodes()) firsts.push_back(ranks.front());
  NodeMessages messages(context_, operation);
  Partials partials(&messages, firsts, node(), bytes);
  for (int i = 1; i < node_count(); ++i) {
    messages.Send(Kind::kPartial, firsts[(node() + i) % node_count()], own, bytes);
  }
  messages.AwaitSent();
  partials.CombineWith(own, node(), operation, nodes_.ranks(), out);
}

void TwoLevelPlane::ReduceScatter(const Operation& operation, const void* in, void* out) {
  const SigpipeGuard guard;
  const size_t part = operation.bytes();
  Call call(context_, operation, EvenPieces(nodes_.ranks(), part));
  const size_t others = served().size() - 1;
  char* const scratch = call.messages.Scratch(alone() ? 0 : others * part);
  std::vector<char*> results;
  for (size_t i = 0; i < others; ++i) results.push_back(scratch + (alone() ? 0 : i * part));
  results.push_back(static_cast<char*>(out));
  ReduceToOwners(&call, static_cast<const char*>(in), results);
  call.messages.AwaitSent();
}

void TwoLevelPlane::ReduceToOwners(Call* call, const char* in, absl::Span<char* const> results) {
  const Piece& own = call->pieces[rank_];
  std::vector<int> senders;
  for (int other = 0; other < node_count(); ++other) {
    senders.push_back(nodes_.Counterpart(rank_, other));
  }
  Partials partials(&call->messages, senders, node(), own.bytes);
  alone() ? SendServed(call, in) : ReduceOnNode(call, in, results);
  partials.CombineWith(alone() ? in + own.offset : results.back(), node(), call->operation,
                       nodes_.ranks(), results.back());
}

// Reduces the pieces on this node, and sends each one as soon as it is reduced.
void TwoLevelPlane::ReduceOnNode(Call* call, const char* in, absl::Span<char* const> results) {
  std::vector<Pieces> pieces;
  for (const std::vector<int>& ranks : served_) pieces.push_back(PiecesOf(call->pieces, ranks));
  const Pieces& own = pieces[index()];
  size_t sent = 0;
  size_t sent_bytes = 0;
  on_node().ReducePieces(
      FirstTag(call->operation), in, pieces, results, SumOf(call->operation), [&](size_t end) {
        for (; sent + 1 < own.size() && sent_bytes + own[sent].bytes <= end; ++sent) {
          call->messages.Send(Kind::kPartial, served()[sent], results[sent], own[sent].bytes);
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
  Call call(context_, operation, std::move(pieces));
  const Piece& own = call.pieces[rank_];
  char* const data = static_cast<char*>(out);
  ExpectResults(&call, data);
  SendResult(&call, static_cast<const char*>(in), &OnAll);
  if (in != data + own.offset && own.bytes > 0) std::memcpy(data + own.offset, in, own.bytes);
  SpreadResults(&call, data);
  call.messages.AwaitSent();
}

void TwoLevelPlane::Broadcast(const Operation& operation, void* data) {
  const SigpipeGuard guard;
  IsSmall(operation.bytes()) ? BroadcastAtOnce(operation, data)
                             : BroadcastInShares(operation, static_cast<char*>(data));
}

void TwoLevelPlane::BroadcastAtOnce(const Operation& operation, void* data) {
  const int root = operation.peer;
  const int root_node = nodes_.node_of(root);
  const size_t bytes = operation.bytes();
  NodeMessages messages(context_, operation);
  for (int other = 0; rank_ == root && other < node_count(); ++other) {
    if (other == root_node) continue;
    messages.Send(Kind::kResult, nodes_.nodes()[other].front(), data, bytes);
  }
  if (node() != root_node && index() == 0) {
    messages.AwaitReceived(messages.Receive(Kind::kResult, root, data, bytes));
  }
  if (!alone()) {
    const int source = node() == root_node ? nodes_.index_of(root) : 0;
    on_node().Broadcast(FirstTag(operation), data, bytes, source);
  }
  messages.AwaitSent();
}

void TwoLevelPlane::BroadcastInShares(const Operation& operation, char* data) {
  const int root_node = nodes_.node_of(operation.peer);
  Call call(context_, operation, nodes_.SharesOf(operation.bytes(), root_node));
  if (node() == root_node) {
    if (rank_ == operation.peer) SendServed(&call, data);
    if (!alone()) {
      on_node().Broadcast(FirstTag(operation), data, operation.bytes(),
                          nodes_.index_of(operation.peer));
    }
    if (rank_ != operation.peer) SendServed(&call, data);
  } else {
    const Piece& own = call.pieces[rank_];
    ExpectResults(&call, data);
    call.messages.AwaitReceived(call.messages.Receive(
        Kind::kPartial, nodes_.Counterpart(rank_, root_node), data + own.offset, own.bytes));
    SendResult(&call, data + own.offset, [&](int other) { return other != root_node; });
    SpreadResults(&call, data);
  }
  call.messages.AwaitSent();
}

void TwoLevelPlane::SendServed(Call* call, const char* data) {
  for (const int rank : served()) {
    const Piece& piece = call->pieces[rank];
    if (rank != rank_) {
      call->messages.Send(Kind::kPartial, rank, data + piece.offset, piece.bytes);
    }
  }
}

void TwoLevelPlane::ExpectResults(Call* call, char* data) {
  for (const int rank : served()) {
    const Piece& piece = call->pieces[rank];
    if (rank == rank_) continue;
    call->results.push_back(
        call->messages.Receive(Kind::kResult, rank, data + piece.offset, piece.bytes));
  }
}

void TwoLevelPlane::SendResult(Call* call, const char* own, Nodes receives) {
  for (int i = 1; i < node_count(); ++i) {
    const int other = (node() + i) % node_count();
    if (!receives(other)) continue;
    call->messages.Send(Kind::kResult, nodes_.Counterpart(rank_, other), own,
                        call->pieces[rank_].bytes);
  }
}

// Spreads this rank's own piece first, while the other pieces are still arriving.
void TwoLevelPlane::SpreadResults(Call* call, char* data) {
  std::vector<Pieces> pieces;
  for (const std::vector<int>& ranks : served_) {
    Pieces one = PiecesOf(call->pieces, ranks);
    std::rotate(one.begin(), one.end() - 1, one.end());
    pieces.push_back(std::move(one));
  }
  const Pieces& own = pieces[index()];
  size_t got = 0;
  size_t begin = own.front().bytes;  // of the next piece to arrive
  const auto await = [&](size_t end) {
    for (; got < call->results.size() && begin < end; ++got) {
      call->messages.AwaitReceived(call->results[got]);
      begin += own[got + 1].bytes;
    }
  };
  if (!alone()) on_node().SpreadPieces(SecondTag(call->operation), data, pieces, await);
  for (; got < call->results.size(); ++got) call->messages.AwaitReceived(call->results[got]);
}

}  // namespace muster::internal
