#ifndef MUSTER_CLIENT_NCCL_NCCL_TYPES_H_
#define MUSTER_CLIENT_NCCL_NCCL_TYPES_H_

#include <nccl.h>

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/communicator.h"

// Muster's types and reductions in NCCL's words.
namespace muster::internal {

// UNIMPLEMENTED for a type that this NCCL does not have, INVALID_ARGUMENT for one that is none.
absl::StatusOr<ncclDataType_t> NcclType(DataType type);

// UNIMPLEMENTED for what NCCL does not have.
//
// ncclAvg on integers adds, wrapping, and then divides with rounding toward zero
// (src/device/reduce_kernel.h, FuncSumPostDiv), as ReduceOp::kAverage does; on floating-point
// numbers it multiplies each by 1/ranks and then adds.
absl::StatusOr<ncclRedOp_t> NcclOp(ReduceOp op);

// "AllReduce of 10 float32 (sum)", for messages.
std::string DescribeOperation(absl::string_view operation, size_t count, DataType type,
                              std::optional<ReduceOp> op = std::nullopt);

// "2.28.9" for 22809.
std::string NcclVersionText(int version);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_NCCL_TYPES_H_
