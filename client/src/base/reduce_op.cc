#include "muster/reduce_op.h"

namespace muster {

absl::string_view NameOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kProduct:
      return "product";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kAverage:
      return "average";
    case ReduceOp::kBitwiseAnd:
      return "bitwise and";
    case ReduceOp::kBitwiseOr:
      return "bitwise or";
  }
  return "";
}

}  // namespace muster
