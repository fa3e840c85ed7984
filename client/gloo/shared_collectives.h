#ifndef MUSTER_CLIENT_GLOO_SHARED_COLLECTIVES_H_
#define MUSTER_CLIENT_GLOO_SHARED_COLLECTIVES_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "client/gloo/step_board.h"
#include "client/src/base/reduction.h"
#include "muster/data_type.h"
#include "muster/reduce_op.h"

namespace muster::internal {

// Where things are in the shared memory of a communicator. The same on all of its ranks.
struct SharedLayout {
  explicit SharedLayout(int ranks);

  size_t board;    // bytes at the beginning
  size_t chunk;    // of data that a rank puts into one slot
  size_t results;  // and of what it has reduced, behind that
  size_t slot;
  size_t total;
};

// How a reduction goes over elements that are taken for bytes.
struct Reduction {
  Reduction(DataType type, ReduceOp op);

  DataType type;
  ReduceOp op;
  ReduceFunction function;
  size_t element;  // bytes
};

// out = all of `sources`, of `bytes` each, in their order; averages are of `ranks` ranks. `out` may
// be one of them.
void Combine(absl::Span<const char* const> sources, char* out, size_t bytes,
             const Reduction& reduction, int ranks);

// A part of a buffer.
struct Piece {
  size_t offset = 0;
  size_t bytes = 0;
};
// What one rank has to do with, piece by piece.
using Pieces = std::vector<Piece>;

// Called with a number of bytes, counted over all pieces of this rank from the first one's.
using AtByte = absl::FunctionRef<void(size_t end)>;

// Collectives of ranks that share memory. Data passes through the slots of a StepBoard, a chunk in
// each step; a rank writes one chunk while the others read the one before.
//
// Reductions combine the ranks' elements in the order of the ranks, whatever the size: ((r0 op r1)
// op r2) ..., so all ranks have the same bits, and the same on every run. Each rank reduces its
// slice of a chunk, for all.
//
// All of them block, and throw what StepBoard throws. Sizes are in bytes. `tag` is the same for all
// ranks that make the same call, and differs from that of other calls.
class SharedCollectives {
 public:
  // `memory` has the layout's size, and was zero when the first rank came. `names`: as StepBoard's.
  SharedCollectives(void* memory, int rank, int ranks, StepBoard::Stopped stopped,
                    std::vector<int> names = {});

  // `in` and `out` are the same or disjoint.
  void AllReduce(uint64_t tag, const void* in, void* out, size_t bytes, const Reduction& reduction);
  // `out` is used on the root only.
  void Reduce(uint64_t tag, const void* in, void* out, size_t bytes, const Reduction& reduction,
              int root);
  void Broadcast(uint64_t tag, void* data, size_t bytes, int root);
  // `parts` has the size of each rank's part. `in` is this rank's place in `out`, or disjoint.
  void AllGather(uint64_t tag, const void* in, absl::Span<const size_t> parts, void* out);
  // `out` is this rank's part of `in`, or disjoint.
  void ReduceScatter(uint64_t tag, const void* in, void* out, size_t part,
                     const Reduction& reduction);
  void Barrier(uint64_t tag);

  // Each rank's pieces of `data` go to the same places in the others' `data`. `before` is called
  // before this rank's are read up to there: they may come from elsewhere meanwhile.
  void SpreadPieces(uint64_t tag, void* data, absl::Span<const Pieces> pieces, AtByte before);
  // Each rank gets the reduction of its pieces of all ranks' `in`: `results` has a place for each
  // of its own, which may be where the piece is. `after` is called when they are there so far.
  void ReducePieces(uint64_t tag, const void* in, absl::Span<const Pieces> pieces,
                    absl::Span<char* const> results, const Reduction& reduction, AtByte after);

  // For the end of its waits, and of its rank.
  StepBoard& board() { return board_; }

 private:
  // The part of a chunk that one rank reduces.
  struct Slice {
    size_t begin;
    size_t bytes;
  };

  bool IsSmall(size_t bytes) const;
  Slice SliceOf(int rank, size_t bytes) const;
  char* SlotOf(int rank, int slot) const;
  char* Written() const { return SlotOf(board_.rank(), board_.slot()); }
  const char* Read(int rank) const { return SlotOf(rank, board_.slot_before()); }

  void ReduceAtOnce(uint64_t tag, const void* in, void* out, size_t bytes,
                    const Reduction& reduction);
  void ReduceInSlices(uint64_t tag, const void* in, void* out, size_t bytes,
                      const Reduction& reduction);
  void CopyToSlot(const char* chunk, size_t bytes);
  void ReduceSlice(const char* own_chunk, size_t bytes, const Reduction& reduction);
  void CopyResults(char* chunk, size_t bytes) const;
  // The others' pieces of one chunk, to their places in `data`.
  void CopyPieces(size_t index, absl::Span<const Pieces> pieces, char* data) const;
  // What the others reduce of one block, to the slot.
  void CopyBlocks(size_t index, size_t block, absl::Span<const Pieces> pieces, const char* in);
  void ReduceBlock(size_t index, size_t block, const Pieces& own, const char* in,
                   absl::Span<char* const> results, const Reduction& reduction);

  const SharedLayout layout_;
  char* const slots_;
  StepBoard board_;
  std::vector<const char*> sources_;  // by rank
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_SHARED_COLLECTIVES_H_
