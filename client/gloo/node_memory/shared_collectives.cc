#include "client/gloo/node_memory/shared_collectives.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/gloo/node_memory/cache_line.h"

namespace muster::internal {
namespace {

constexpr size_t kPage = 4096;

// The approximate size of the slots of all ranks together, which should fit in the processors'
// caches.
constexpr size_t kSlotsBytes = size_t{8} << 20;
constexpr size_t kMinChunk = size_t{16} << 10;
constexpr size_t kMaxChunk = size_t{256} << 10;

// Up to this many bytes of all ranks together, every rank reduces everything: reading it costs less
// than a second wait.
constexpr size_t kSmallBytes = size_t{32} << 10;

// Partial results of this size stay in the first-level cache during a reduction.
constexpr size_t kBlock = 4096;

constexpr size_t RoundUp(size_t size, size_t to) { return (size + to - 1) / to * to; }
constexpr size_t PieceCount(size_t size, size_t piece) { return (size + piece - 1) / piece; }

// Returns the size of piece `index` of `total`.
size_t PieceSize(size_t index, size_t piece, size_t total) {
  const size_t begin = std::min(index * piece, total);
  return std::min(piece, total - begin);
}

// Copies bytes. Skips empty ranges, since an empty vector has no address.
void Copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

size_t BytesIn(const Pieces& pieces) {
  size_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

size_t MaxBytesIn(absl::Span<const Pieces> pieces) {
  size_t most = 0;
  for (const Pieces& one : pieces) most = std::max(most, BytesIn(one));
  return most;
}

// The part of one piece that lies in a range of all pieces.
struct Part {
  size_t piece;   // its index
  size_t offset;  // in the buffer
  size_t at;      // in the range
  size_t bytes;
};

// Calls `f` for each part of `pieces` in the range of `bytes` bytes from `begin` on.
template <class F>
void ForEachOverlap(const Pieces& pieces, size_t begin, size_t bytes, F f) {
  size_t start = 0;  // where piece i begins, counted over all pieces
  for (size_t i = 0; i < pieces.size(); start += pieces[i].bytes, ++i) {
    const size_t from = std::max(begin, start);
    const size_t to = std::min(begin + bytes, start + pieces[i].bytes);
    if (from < to) f(Part{i, pieces[i].offset + (from - start), from - begin, to - from});
  }
}

size_t ChunkFor(size_t ranks) {
  const size_t share = kSlotsBytes / (ranks * StepSequencer::kSlots);
  return RoundUp(std::clamp(share, kMinChunk, kMaxChunk), ranks * kCacheLine);
}

}  // namespace

SharedLayout::SharedLayout(int ranks)
    : sequencer(RoundUp(StepSequencer::BytesFor(ranks), kPage)),
      chunk(ChunkFor(ranks)),
      results(chunk / ranks),
      slot(RoundUp(chunk + results, kPage)),
      total(sequencer + slot * StepSequencer::kSlots * ranks) {}

Reduction::Reduction(DataType type, ReduceOp op)
    : type(type), op(op), function(ReduceFunctionFor(type, op)), element(SizeOf(type)) {}

void Combine(absl::Span<const char* const> sources, char* out, size_t bytes,
             const Reduction& reduction, int ranks) {
  alignas(kCacheLine) char partial[kBlock];
  const size_t last = sources.size() - 1;
  if (last == 0 && out != sources[0]) Copy(out, sources[0], bytes);
  for (size_t begin = 0; begin < bytes; begin += kBlock) {
    const size_t count = std::min(kBlock, bytes - begin) / reduction.element;
    const char* so_far = sources[0] + begin;
    for (size_t i = 1; i <= last; ++i) {
      char* const to = i == last ? out + begin : partial;
      reduction.function(to, so_far, sources[i] + begin, count);
      so_far = to;
    }
    FinishAverage(out + begin, count, reduction.type, reduction.op, ranks);
  }
}

SharedCollectives::SharedCollectives(void* memory, int rank, int ranks,
                                     StepSequencer::Stopped stopped, std::vector<int> group_ranks)
    : layout_(ranks),
      slots_(static_cast<char*>(memory) + layout_.sequencer),
      sequencer_(memory, rank, ranks, std::move(stopped), std::move(group_ranks)),
      sources_(ranks) {}

bool SharedCollectives::IsSmall(size_t bytes) const {
  return bytes * sequencer_.ranks() <= kSmallBytes;
}

// Returns the slice of `rank`. Slices begin at cache lines, so no two ranks write to the same line.
// The last slices may be empty.
SharedCollectives::Slice SharedCollectives::SliceOf(int rank, size_t bytes) const {
  const size_t size = RoundUp(PieceCount(bytes, sequencer_.ranks()), kCacheLine);
  return {std::min(rank * size, bytes), PieceSize(rank, size, bytes)};
}

char* SharedCollectives::SlotOf(int rank, int slot) const {
  return slots_ + (size_t{StepSequencer::kSlots} * rank + slot) * layout_.slot;
}

void SharedCollectives::AllReduce(uint64_t tag, const void* in, void* out, size_t bytes,
                                  const Reduction& reduction) {
  IsSmall(bytes) ? ReduceSmall(tag, in, out, bytes, reduction)
                 : ReduceInSlices(tag, in, out, bytes, reduction);
}

void SharedCollectives::Reduce(uint64_t tag, const void* in, void* out, size_t bytes,
                               const Reduction& reduction, int root) {
  AllReduce(tag, in, sequencer_.rank() == root ? out : nullptr, bytes, reduction);
}

// Reduces small data with one wait. If `out` is null, this rank only contributes.
void SharedCollectives::ReduceSmall(uint64_t tag, const void* in, void* out, size_t bytes,
                                    const Reduction& reduction) {
  sequencer_.Begin(tag);
  sequencer_.AwaitSlot();
  Copy(OwnSlot(), in, bytes);
  sequencer_.Publish();
  if (out == nullptr) return;
  sequencer_.AwaitPeers();
  for (int rank = 0; rank < sequencer_.ranks(); ++rank) sources_[rank] = PeerSlot(rank);
  Combine(sources_, static_cast<char*>(out), bytes, reduction, sequencer_.ranks());
}

// Reduces large data chunk by chunk. In step s, each rank copies chunk s to its slot, reduces its
// slice of chunk s - 1, and copies out chunk s - 2. So every wait is for work that the other ranks
// began a whole step before.
void SharedCollectives::ReduceInSlices(uint64_t tag, const void* in, void* out, size_t bytes,
                                       const Reduction& reduction) {
  const char* const from = static_cast<const char*>(in);
  char* const to = static_cast<char*>(out);
  const size_t chunk = layout_.chunk;
  const size_t chunks = PieceCount(bytes, chunk);
  sequencer_.Begin(tag);
  for (size_t step = 0; step <= chunks + 1; ++step) {
    if (step < chunks) {
      sequencer_.AwaitSlot();
      CopyToSlot(from + step * chunk, PieceSize(step, chunk, bytes));
    }
    const bool last = step == chunks + 1;
    if (last && to == nullptr) break;
    if (step >= 1) sequencer_.AwaitPeers();
    if (step >= 1 && !last) {
      ReduceSlice(from + (step - 1) * chunk, PieceSize(step - 1, chunk, bytes), reduction);
    }
    if (step >= 2 && to != nullptr) {
      CopyResults(to + (step - 2) * chunk, PieceSize(step - 2, chunk, bytes));
    }
    if (!last) sequencer_.Publish();
  }
}

// Copies everything but the slice that this rank reduces itself.
void SharedCollectives::CopyToSlot(const char* chunk, size_t bytes) {
  const Slice own = SliceOf(sequencer_.rank(), bytes);
  const size_t end = own.begin + own.bytes;
  Copy(OwnSlot(), chunk, own.begin);
  Copy(OwnSlot() + end, chunk + end, bytes - end);
}

void SharedCollectives::ReduceSlice(const char* own_chunk, size_t bytes,
                                    const Reduction& reduction) {
  const Slice own = SliceOf(sequencer_.rank(), bytes);
  for (int rank = 0; rank < sequencer_.ranks(); ++rank) {
    sources_[rank] = (rank == sequencer_.rank() ? own_chunk : PeerSlot(rank)) + own.begin;
  }
  Combine(sources_, OwnSlot() + layout_.chunk, own.bytes, reduction, sequencer_.ranks());
}

void SharedCollectives::CopyResults(char* chunk, size_t bytes) const {
  for (int rank = 0; rank < sequencer_.ranks(); ++rank) {
    const Slice slice = SliceOf(rank, bytes);
    Copy(chunk + slice.begin, PeerSlot(rank) + layout_.chunk, slice.bytes);
  }
}

void SharedCollectives::Broadcast(uint64_t tag, void* data, size_t bytes, int root) {
  char* const place = static_cast<char*>(data);
  const size_t chunk = layout_.chunk;
  const size_t chunks = PieceCount(bytes, chunk);
  const bool sends = sequencer_.rank() == root;
  sequencer_.Begin(tag);
  for (size_t step = 0; step <= chunks; ++step) {
    if (step < chunks) sequencer_.AwaitSlot();
    if (sends) Copy(OwnSlot(), place + step * chunk, PieceSize(step, chunk, bytes));
    if (!sends && step >= 1) {
      sequencer_.AwaitPeer(root);
      Copy(place + (step - 1) * chunk, PeerSlot(root), PieceSize(step - 1, chunk, bytes));
    }
    if (step < chunks) sequencer_.Publish();
  }
}

void SharedCollectives::AllGather(uint64_t tag, const void* in, absl::Span<const size_t> parts,
                                  void* out) {
  std::vector<Pieces> pieces;
  size_t offset = 0;
  for (const size_t part : parts) {
    pieces.push_back({{offset, part}});
    offset += part;
  }
  const Piece& own = pieces[sequencer_.rank()].front();
  char* const place = static_cast<char*>(out) + own.offset;
  size_t copied = 0;
  SpreadPieces(tag, out, pieces, [&](size_t end) {
    if (place != in) Copy(place + copied, static_cast<const char*>(in) + copied, end - copied);
    copied = end;
  });
}

void SharedCollectives::SpreadPieces(uint64_t tag, void* data, absl::Span<const Pieces> pieces,
                                     ProgressCallback before) {
  char* const place = static_cast<char*>(data);
  const size_t chunk = layout_.chunk;
  const Pieces& own = pieces[sequencer_.rank()];
  const size_t own_bytes = BytesIn(own);
  const size_t chunks = PieceCount(MaxBytesIn(pieces), chunk);
  sequencer_.Begin(tag);
  for (size_t step = 0; step <= chunks; ++step) {
    if (step < chunks) {
      before(std::min((step + 1) * chunk, own_bytes));
      sequencer_.AwaitSlot();
      ForEachOverlap(own, step * chunk, chunk, [&](const Part& part) {
        Copy(OwnSlot() + part.at, place + part.offset, part.bytes);
      });
    }
    if (step >= 1) {
      sequencer_.AwaitPeers();
      CopyPieces(step - 1, pieces, place);
    }
    if (step < chunks) sequencer_.Publish();
  }
}

void SharedCollectives::CopyPieces(size_t index, absl::Span<const Pieces> pieces,
                                   char* data) const {
  for (int rank = 0; rank < sequencer_.ranks(); ++rank) {
    if (rank == sequencer_.rank()) continue;
    ForEachOverlap(pieces[rank], index * layout_.chunk, layout_.chunk, [&](const Part& part) {
      Copy(data + part.offset, PeerSlot(rank) + part.at, part.bytes);
    });
  }
}

void SharedCollectives::ReduceScatter(uint64_t tag, const void* in, void* out, size_t part,
                                      const Reduction& reduction) {
  std::vector<Pieces> pieces;
  for (int rank = 0; rank < sequencer_.ranks(); ++rank) pieces.push_back({{rank * part, part}});
  char* const result = static_cast<char*>(out);
  ReducePieces(tag, in, pieces, {result}, reduction, [](size_t) {});
}

// Here a chunk consists of one block for each rank.
void SharedCollectives::ReducePieces(uint64_t tag, const void* in, absl::Span<const Pieces> pieces,
                                     absl::Span<char* const> results, const Reduction& reduction,
                                     ProgressCallback after) {
  const char* const from = static_cast<const char*>(in);
  const Pieces& own = pieces[sequencer_.rank()];
  const size_t own_bytes = BytesIn(own);
  const size_t block = layout_.chunk / sequencer_.ranks();
  const size_t blocks = PieceCount(MaxBytesIn(pieces), block);
  sequencer_.Begin(tag);
  for (size_t step = 0; step <= blocks; ++step) {
    if (step < blocks) {
      sequencer_.AwaitSlot();
      CopyBlocks(step, block, pieces, from);
    }
    if (step >= 1) {
      sequencer_.AwaitPeers();
      ReduceBlock(step - 1, block, own, from, results, reduction);
      after(std::min(step * block, own_bytes));
    }
    if (step < blocks) sequencer_.Publish();
  }
}

void SharedCollectives::CopyBlocks(size_t index, size_t block, absl::Span<const Pieces> pieces,
                                   const char* in) {
  for (int rank = 0; rank < sequencer_.ranks(); ++rank) {
    if (rank == sequencer_.rank()) continue;
    char* const to = OwnSlot() + rank * block;
    ForEachOverlap(pieces[rank], index * block, block,
                   [&](const Part& part) { Copy(to + part.at, in + part.offset, part.bytes); });
  }
}

void SharedCollectives::ReduceBlock(size_t index, size_t block, const Pieces& own, const char* in,
                                    absl::Span<char* const> results, const Reduction& reduction) {
  ForEachOverlap(own, index * block, block, [&](const Part& part) {
    for (int rank = 0; rank < sequencer_.ranks(); ++rank) {
      sources_[rank] = PeerSlot(rank) + sequencer_.rank() * block + part.at;
    }
    sources_[sequencer_.rank()] = in + part.offset;
    char* const out = results[part.piece] + (part.offset - own[part.piece].offset);
    Combine(sources_, out, part.bytes, reduction, sequencer_.ranks());
  });
}

void SharedCollectives::Barrier(uint64_t tag) {
  sequencer_.Begin(tag);
  sequencer_.AwaitSlot();
  sequencer_.Publish();
  sequencer_.AwaitPeers();
}

}  // namespace muster::internal
