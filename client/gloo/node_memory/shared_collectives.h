#ifndef MUSTER_CLIENT_GLOO_NODE_MEMORY_SHARED_COLLECTIVES_H_
#define MUSTER_CLIENT_GLOO_NODE_MEMORY_SHARED_COLLECTIVES_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "client/gloo/node_memory/step_sequencer.h"
#include "client/src/base/reduction.h"
#include "muster/data_type.h"
#include "muster/reduce_op.h"

namespace muster::internal {

// The layout of a communicator's shared memory, the same on all of its ranks.
struct SharedLayout {
  explicit SharedLayout(int ranks);

  size_t sequencer;  // bytes of the StepSequencer, at the beginning
  size_t chunk;      // bytes of data that a rank puts into one slot
  size_t results;    // bytes of results that it reduced, after the chunk
  size_t slot;
  size_t total;
};

// A reduction as a function on untyped memory.
struct Reduction {
  Reduction(DataType type, ReduceOp op);

  DataType type;
  ReduceOp op;
  ReduceFunction function;
  size_t element;  // bytes
};

// Reduces `sources`, of `bytes` each, in their order, and writes the result to `out`, which may be
// one of them. Averages divide by `ranks`.
void Combine(absl::Span<const char* const> sources, char* out, size_t bytes,
             const Reduction& reduction, int ranks);

// A part of a buffer.
struct Piece {
  size_t offset = 0;
  size_t bytes = 0;
};
// The pieces of a buffer that one rank reads or writes, in order.
using Pieces = std::vector<Piece>;

// A callback that gets a number of bytes, counted over all pieces of this rank from the first
// piece.
using ProgressCallback = absl::FunctionRef<void(size_t end)>;

// Collectives of ranks that share memory. Data passes through the slots of a StepSequencer, one
// chunk in each step: a rank writes one chunk while the other ranks read the chunk before.
//
// Reductions combine the ranks' elements in the order of the ranks, whatever the size: ((r0 op r1)
// op r2) and so on. So all ranks get the same bits, on every run. Each rank reduces one slice of a
// chunk for all ranks.
//
// All calls block, and throw what StepSequencer throws. Sizes are in bytes. `tag` must be the same
// on all ranks that make the same call, and different for different calls. Tests:
// tests/client/gloo/shared_collectives_test.cc, bits_test.cc.
class SharedCollectives {
 public:
  // `memory` has the layout's total size, and was zero before the first rank used it. `group_ranks`
  // is as StepSequencer's.
  SharedCollectives(void* memory, int rank, int ranks, StepSequencer::Stopped stopped,
                    std::vector<int> group_ranks = {});

  // `in` and `out` must be the same or disjoint.
  void AllReduce(uint64_t tag, const void* in, void* out, size_t bytes, const Reduction& reduction);
  // Writes `out` on the root only.
  void Reduce(uint64_t tag, const void* in, void* out, size_t bytes, const Reduction& reduction,
              int root);
  void Broadcast(uint64_t tag, void* data, size_t bytes, int root);
  // `parts` has the size of each rank's part. `in` must be this rank's place in `out`, or disjoint.
  void AllGather(uint64_t tag, const void* in, absl::Span<const size_t> parts, void* out);
  // `out` must be this rank's part of `in`, or disjoint.
  void ReduceScatter(uint64_t tag, const void* in, void* out, size_t part,
                     const Reduction& reduction);
  void Barrier(uint64_t tag);

  // Copies each rank's pieces of `data` to the same places in the other ranks' `data`. Calls
  // `before` before it reads this rank's pieces up to that byte, so the data may still arrive
  // meanwhile.
  void SpreadPieces(uint64_t tag, void* data, absl::Span<const Pieces> pieces,
                    ProgressCallback before);
  // Gives each rank the reduction of its pieces over all ranks' `in`. `results` has a place for
  // each piece of this rank, which may be the place of the piece itself. Calls `after` when the
  // results up to that byte are there.
  void ReducePieces(uint64_t tag, const void* in, absl::Span<const Pieces> pieces,
                    absl::Span<char* const> results, const Reduction& reduction,
                    ProgressCallback after);

  // Returns the sequencer, to end its waits and to exchange end notices.
  StepSequencer& sequencer() { return sequencer_; }

 private:
  // The part of a chunk that one rank reduces.
  struct Slice {
    size_t begin;
    size_t bytes;
  };

  bool IsSmall(size_t bytes) const;
  Slice SliceOf(int rank, size_t bytes) const;
  char* SlotOf(int rank, int slot) const;
  char* OwnSlot() const { return SlotOf(sequencer_.rank(), sequencer_.slot()); }
  const char* PeerSlot(int rank) const { return SlotOf(rank, sequencer_.slot_before()); }

  void ReduceSmall(uint64_t tag, const void* in, void* out, size_t bytes,
                   const Reduction& reduction);
  void ReduceInSlices(uint64_t tag, const void* in, void* out, size_t bytes,
                      const Reduction& reduction);
  void CopyToSlot(const char* chunk, size_t bytes);
  void ReduceSlice(const char* own_chunk, size_t bytes, const Reduction& reduction);
  void CopyResults(char* chunk, size_t bytes) const;
  // Copies the other ranks' pieces of one chunk to their places in `data`.
  void CopyPieces(size_t index, absl::Span<const Pieces> pieces, char* data) const;
  // Copies the pieces of one block that other ranks reduce to this rank's slot.
  void CopyBlocks(size_t index, size_t block, absl::Span<const Pieces> pieces, const char* in);
  void ReduceBlock(size_t index, size_t block, const Pieces& own, const char* in,
                   absl::Span<char* const> results, const Reduction& reduction);

  const SharedLayout layout_;
  char* const slots_;
  StepSequencer sequencer_;
  std::vector<const char*> sources_;  // by rank
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_MEMORY_SHARED_COLLECTIVES_H_
