#include "client/gloo/shared_collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace muster::internal {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kPage = 4096;

// What the slots of all ranks take together, about: they should stay in the processors' caches.
constexpr size_t kSlotsBytes = size_t{8} << 20;
constexpr size_t kLeastChunk = size_t{16} << 10;
constexpr size_t kLargestChunk = size_t{256} << 10;

// Up to so many bytes of all ranks together every rank reduces all by itself: reading them costs
// less than waiting once more.
constexpr size_t kSmall = size_t{32} << 10;

// Partial results of so many bytes stay in the first cache while they grow.
constexpr size_t kBlock = 4096;

constexpr size_t RoundedUp(size_t size, size_t to) { return (size + to - 1) / to * to; }
constexpr size_t PiecesOf(size_t size, size_t piece) { return (size + piece - 1) / piece; }

// The size of piece `index` of `total`.
size_t PieceAt(size_t index, size_t piece, size_t total) {
  const size_t begin = std::min(index * piece, total);
  return std::min(piece, total - begin);
}

// Empty vectors have no address.
void Copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

size_t ChunkFor(size_t ranks) {
  const size_t share = kSlotsBytes / (ranks * StepBoard::kSlots);
  return RoundedUp(std::clamp(share, kLeastChunk, kLargestChunk), ranks * kCacheLine);
}

}  // namespace

SharedLayout::SharedLayout(int ranks)
    : board(RoundedUp(StepBoard::BytesFor(ranks), kPage)),
      chunk(ChunkFor(ranks)),
      results(chunk / ranks),
      slot(RoundedUp(chunk + results, kPage)),
      total(board + slot * StepBoard::kSlots * ranks) {}

Reduction::Reduction(DataType type, ReduceOp op)
    : type(type), op(op), function(ReduceFunctionFor(type, op)), element(SizeOf(type)) {}

SharedCollectives::SharedCollectives(void* memory, int rank, int ranks, StepBoard::Stopped stopped)
    : layout_(ranks),
      slots_(static_cast<char*>(memory) + layout_.board),
      board_(memory, rank, ranks, std::move(stopped)),
      sources_(ranks) {}

bool SharedCollectives::IsSmall(size_t bytes) const { return bytes * board_.ranks() <= kSmall; }

// Slices begin at cache lines, so that no two ranks write to one; the last ones may be empty.
SharedCollectives::Slice SharedCollectives::SliceOf(int rank, size_t bytes) const {
  const size_t size = RoundedUp(PiecesOf(bytes, board_.ranks()), kCacheLine);
  return {std::min(rank * size, bytes), PieceAt(rank, size, bytes)};
}

char* SharedCollectives::SlotOf(int rank, int slot) const {
  return slots_ + (size_t{StepBoard::kSlots} * rank + slot) * layout_.slot;
}

void SharedCollectives::AllReduce(uint64_t tag, const void* in, void* out, size_t bytes,
                                  const Reduction& reduction) {
  IsSmall(bytes) ? ReduceAtOnce(tag, in, out, bytes, reduction)
                 : ReduceInSlices(tag, in, out, bytes, reduction);
}

void SharedCollectives::Reduce(uint64_t tag, const void* in, void* out, size_t bytes,
                               const Reduction& reduction, int root) {
  AllReduce(tag, in, board_.rank() == root ? out : nullptr, bytes, reduction);
}

// Where there is no `out`, this rank only contributes.
void SharedCollectives::ReduceAtOnce(uint64_t tag, const void* in, void* out, size_t bytes,
                                     const Reduction& reduction) {
  board_.Begin(tag);
  board_.AwaitSlot();
  Copy(Written(), in, bytes);
  board_.Publish();
  if (out == nullptr) return;
  board_.AwaitPeers();
  for (int rank = 0; rank < board_.ranks(); ++rank) sources_[rank] = Read(rank);
  Combine(static_cast<char*>(out), bytes, reduction);
}

// In step s chunk s is copied to the slot, a slice of chunk s - 1 reduced, and chunk s - 2 copied
// out, so that every wait is for something that the others have done a whole step ago.
void SharedCollectives::ReduceInSlices(uint64_t tag, const void* in, void* out, size_t bytes,
                                       const Reduction& reduction) {
  const char* const from = static_cast<const char*>(in);
  char* const to = static_cast<char*>(out);
  const size_t chunk = layout_.chunk;
  const size_t chunks = PiecesOf(bytes, chunk);
  board_.Begin(tag);
  for (size_t step = 0; step <= chunks + 1; ++step) {
    if (step < chunks) {
      board_.AwaitSlot();
      CopyToSlot(from + step * chunk, PieceAt(step, chunk, bytes));
    }
    const bool last = step == chunks + 1;
    if (last && to == nullptr) break;
    if (step >= 1) board_.AwaitPeers();
    if (step >= 1 && !last) {
      ReduceSlice(from + (step - 1) * chunk, PieceAt(step - 1, chunk, bytes), reduction);
    }
    if (step >= 2 && to != nullptr) {
      CopyResults(to + (step - 2) * chunk, PieceAt(step - 2, chunk, bytes));
    }
    if (!last) board_.Publish();
  }
}

// All but the slice that this rank reduces.
void SharedCollectives::CopyToSlot(const char* chunk, size_t bytes) {
  const Slice own = SliceOf(board_.rank(), bytes);
  const size_t end = own.begin + own.bytes;
  Copy(Written(), chunk, own.begin);
  Copy(Written() + end, chunk + end, bytes - end);
}

void SharedCollectives::ReduceSlice(const char* own_chunk, size_t bytes,
                                    const Reduction& reduction) {
  const Slice own = SliceOf(board_.rank(), bytes);
  for (int rank = 0; rank < board_.ranks(); ++rank) {
    sources_[rank] = (rank == board_.rank() ? own_chunk : Read(rank)) + own.begin;
  }
  Combine(Written() + layout_.chunk, own.bytes, reduction);
}

void SharedCollectives::CopyResults(char* chunk, size_t bytes) const {
  for (int rank = 0; rank < board_.ranks(); ++rank) {
    const Slice slice = SliceOf(rank, bytes);
    Copy(chunk + slice.begin, Read(rank) + layout_.chunk, slice.bytes);
  }
}

void SharedCollectives::Combine(char* out, size_t bytes, const Reduction& reduction) {
  alignas(kCacheLine) char partial[kBlock];
  const int ranks = board_.ranks();
  for (size_t begin = 0; begin < bytes; begin += kBlock) {
    const size_t count = std::min(kBlock, bytes - begin) / reduction.element;
    const char* so_far = sources_[0] + begin;
    for (int rank = 1; rank < ranks; ++rank) {
      char* const to = rank == ranks - 1 ? out + begin : partial;
      reduction.function(to, so_far, sources_[rank] + begin, count);
      so_far = to;
    }
    FinishAverage(out + begin, count, reduction.type, reduction.op, ranks);
  }
}

void SharedCollectives::Broadcast(uint64_t tag, void* data, size_t bytes, int root) {
  char* const place = static_cast<char*>(data);
  const size_t chunk = layout_.chunk;
  const size_t chunks = PiecesOf(bytes, chunk);
  const bool sends = board_.rank() == root;
  board_.Begin(tag);
  for (size_t step = 0; step <= chunks; ++step) {
    if (step < chunks) board_.AwaitSlot();
    if (sends) Copy(Written(), place + step * chunk, PieceAt(step, chunk, bytes));
    if (!sends && step >= 1) {
      board_.AwaitPeer(root);
      Copy(place + (step - 1) * chunk, Read(root), PieceAt(step - 1, chunk, bytes));
    }
    if (step < chunks) board_.Publish();
  }
}

void SharedCollectives::AllGather(uint64_t tag, const void* in, absl::Span<const size_t> parts,
                                  void* out) {
  const char* const from = static_cast<const char*>(in);
  const size_t chunk = layout_.chunk;
  const size_t own = parts[board_.rank()];
  const size_t chunks = PiecesOf(*std::max_element(parts.begin(), parts.end()), chunk);
  char* const place =
      std::accumulate(parts.begin(), parts.begin() + board_.rank(), static_cast<char*>(out));
  board_.Begin(tag);
  for (size_t step = 0; step <= chunks; ++step) {
    const size_t begin = std::min(step * chunk, own);
    const size_t bytes = PieceAt(step, chunk, own);
    if (step < chunks) {
      board_.AwaitSlot();
      Copy(Written(), from + begin, bytes);
    }
    if (step >= 1) {
      board_.AwaitPeers();
      CopyParts(step - 1, parts, static_cast<char*>(out));
    }
    if (step < chunks) board_.Publish();
    if (place != from) Copy(place + begin, from + begin, bytes);  // while the others come
  }
}

// What the others have brought of one chunk, to its places in `out`.
void SharedCollectives::CopyParts(size_t index, absl::Span<const size_t> parts, char* out) const {
  for (int rank = 0; rank < board_.ranks(); out += parts[rank], ++rank) {
    if (rank == board_.rank()) continue;
    Copy(out + std::min(index * layout_.chunk, parts[rank]), Read(rank),
         PieceAt(index, layout_.chunk, parts[rank]));
  }
}

// A chunk is a block of each rank's part.
void SharedCollectives::ReduceScatter(uint64_t tag, const void* in, void* out, size_t part,
                                      const Reduction& reduction) {
  const char* const from = static_cast<const char*>(in);
  const size_t block = layout_.chunk / board_.ranks();
  const size_t blocks = PiecesOf(part, block);
  board_.Begin(tag);
  for (size_t step = 0; step <= blocks; ++step) {
    if (step < blocks) {
      board_.AwaitSlot();
      CopyBlocks(from + step * block, part, block, PieceAt(step, block, part));
    }
    if (step >= 1) {
      board_.AwaitPeers();
      const size_t begin = (step - 1) * block;
      for (int rank = 0; rank < board_.ranks(); ++rank) {
        sources_[rank] = Read(rank) + board_.rank() * block;
      }
      sources_[board_.rank()] = from + board_.rank() * part + begin;
      Combine(static_cast<char*>(out) + begin, PieceAt(step - 1, block, part), reduction);
    }
    if (step < blocks) board_.Publish();
  }
}

// Those of the others, of `bytes` each, from what is of the first rank's part.
void SharedCollectives::CopyBlocks(const char* first, size_t part, size_t block, size_t bytes) {
  for (int rank = 0; rank < board_.ranks(); ++rank) {
    if (rank != board_.rank()) Copy(Written() + rank * block, first + rank * part, bytes);
  }
}

void SharedCollectives::Barrier(uint64_t tag) {
  board_.Begin(tag);
  board_.AwaitSlot();
  board_.Publish();
  board_.AwaitPeers();
}

}  // namespace muster::internal
