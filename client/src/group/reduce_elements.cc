#include "absl/strings/str_cat.h"
#include "client/src/base/reduction.h"
#include "common/names/operation_names.h"
#include "muster/group.h"

namespace muster::internal {
namespace {

absl::Status CheckReduction(DataType type, ReduceOp op) {
  if (NameOf(op).empty()) {
    return absl::InvalidArgumentError(absl::StrCat("AllReduce: the operation is ",
                                                   static_cast<int>(op),
                                                   ", expected one of ReduceOp's values"));
  }
  return CheckReducible(type, op);
}

}  // namespace

absl::StatusOr<std::string> AllReduceElements(const Group& group, absl::string_view elements,
                                              DataType type, ReduceOp op,
                                              const CallOptions& options, CallSite site) {
  if (absl::Status status = CheckReduction(type, op); !status.ok()) return status;
  CallOptions equal = options;
  equal.require_equal_sizes = true;
  const std::string what =
      CallTypeName("AllReduce", absl::StrCat(NameOf(op), " of ", NameOf(type)));
  const auto of_ranks = group.AllGatherBytes(elements, what, equal, site);
  if (!of_ranks.ok()) return of_ranks.status();
  return FoldElements(*of_ranks, type, op);
}

}  // namespace muster::internal
