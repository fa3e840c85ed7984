#ifndef MUSTER_REDUCE_OP_H_
#define MUSTER_REDUCE_OP_H_

#include "muster/cxx17.h"

#include "absl/strings/string_view.h"

namespace muster {

// What makes one value of the values of all ranks. Integers wrap around, as unsigned arithmetic of
// their width does.
enum class ReduceOp {
  kSum,
  kProduct,
  kMin,
  kMax,
  // The sum (wrapped, for integers) divided by the number of ranks, and rounded toward zero for
  // integers. NCCL divides floating-point numbers before it adds them, so roundings differ.
  kAverage,
  // Bit by bit, of integers and bool. NCCL has neither: a Communicator over it returns
  // UNIMPLEMENTED, and AllReduce() of muster/tensor_collectives.h gathers the bits and folds them.
  kBitwiseAnd,
  kBitwiseOr,
};

// "sum"; empty for a value that is none of the enumerators.
absl::string_view NameOf(ReduceOp op);

}  // namespace muster

#endif  // MUSTER_REDUCE_OP_H_
