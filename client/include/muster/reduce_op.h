#ifndef MUSTER_REDUCE_OP_H_
#define MUSTER_REDUCE_OP_H_

#include "muster/cxx17.h"

#include "absl/strings/string_view.h"

namespace muster {

// The operation that an all-reduce applies to the values of all ranks. Integers wrap around, as
// unsigned integers of their width do.
enum class ReduceOp {
  kSum,
  kProduct,
  kMin,
  kMax,
  // The sum divided by the number of ranks. For integers the sum wraps around, and the quotient is
  // rounded toward zero. NCCL divides floating-point numbers before it adds them, so its result may
  // differ in the last bits.
  kAverage,
  // Bitwise operations on integers and bool. NCCL has neither, so a Communicator over NCCL returns
  // UNIMPLEMENTED. AllReduce() of muster/toolkits/tensor_collectives.h gathers the bits and
  // combines them.
  kBitwiseAnd,
  kBitwiseOr,
};

// Returns the name of the operation, "sum"; empty for a value that is no enumerator.
absl::string_view NameOf(ReduceOp op);

}  // namespace muster

#endif  // MUSTER_REDUCE_OP_H_
