#ifndef MUSTER_CLIENT_SRC_BASE_REDUCTION_H_
#define MUSTER_CLIENT_SRC_BASE_REDUCTION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/data_type.h"
#include "muster/reduce_op.h"

// Reductions on the CPU.
namespace muster::internal {

// Those that work bit by bit, whatever the type.
inline bool IsBitwise(ReduceOp op) {
  return op == ReduceOp::kBitwiseAnd || op == ReduceOp::kBitwiseOr;
}

// out[i] = a[i] op b[i]. `out` may be `a`, `b`, or disjoint from them.
using ReduceFunction = void (*)(void* out, const void* a, const void* b, size_t count);

// kAverage reduces as kSum; FinishAverage() does the rest. Null for the types that the CPU has no
// arithmetic for: bool, but for the bitwise ones, and floats of 16 and 8 bits.
ReduceFunction ReduceFunctionFor(DataType type, ReduceOp op);

// UNIMPLEMENTED, in AllReduce()'s words, where there is none.
absl::Status CheckReducible(DataType type, ReduceOp op);

// Where `op` is kAverage, divides sums over `ranks` ranks, in place.
void FinishAverage(void* data, size_t count, DataType type, ReduceOp op, int ranks);

// The elements of all ranks, which are equally many and not none, folded in their order. Not for
// what has no ReduceFunction.
std::string FoldElements(const std::vector<std::string>& of_ranks, DataType type, ReduceOp op);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_REDUCTION_H_
