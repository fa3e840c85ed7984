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

// Returns whether the operation works on bits, whatever the type.
inline bool IsBitwise(ReduceOp op) {
  return op == ReduceOp::kBitwiseAnd || op == ReduceOp::kBitwiseOr;
}

// Computes out[i] = a[i] op b[i]. `out` may be `a`, `b`, or disjoint from them.
using ReduceFunction = void (*)(void* out, const void* a, const void* b, size_t count);

// Returns the function for a type. kAverage sums up, and FinishAverage() divides. Returns null for
// types without arithmetic on the CPU: floats of 16 and 8 bits, and bool except for bitwise
// operations.
ReduceFunction ReduceFunctionFor(DataType type, ReduceOp op);

// Returns UNIMPLEMENTED, in AllReduce()'s words, if there is no function.
absl::Status CheckReducible(DataType type, ReduceOp op);

// Divides sums by `ranks` in place if `op` is kAverage. Otherwise does nothing.
void FinishAverage(void* data, size_t count, DataType type, ReduceOp op, int ranks);

// Reduces the elements of all ranks, in rank order. Every rank must have the same number of
// elements, at least one, and there must be a ReduceFunction.
std::string FoldElements(const std::vector<std::string>& of_ranks, DataType type, ReduceOp op);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_REDUCTION_H_
