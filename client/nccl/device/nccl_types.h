#ifndef MUSTER_CLIENT_NCCL_DEVICE_NCCL_TYPES_H_
#define MUSTER_CLIENT_NCCL_DEVICE_NCCL_TYPES_H_

#include <nccl.h>

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/communicator.h"

// Muster's types and reductions as NCCL's.
namespace muster::internal {

// Returns NCCL's type. UNIMPLEMENTED if the loaded NCCL does not have it, INVALID_ARGUMENT if
// `type` is no value of DataType.
absl::StatusOr<ncclDataType_t> NcclType(DataType type);

// Returns NCCL's reduction. UNIMPLEMENTED if NCCL does not have it.
//
// On integers, ncclAvg adds, wrapping, and then divides with rounding toward zero
// (src/device/reduce_kernel.h, FuncSumPostDiv), as ReduceOp::kAverage does. On floating-point
// numbers it multiplies each by 1/ranks and then adds.
absl::StatusOr<ncclRedOp_t> NcclOp(ReduceOp op);

// Returns a text such as "AllReduce of 10 float32 (sum)".
std::string DescribeOperation(absl::string_view operation, size_t count, DataType type,
                              std::optional<ReduceOp> op = std::nullopt);

// Returns "2.28.9" for 22809.
std::string NcclVersionText(int version);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DEVICE_NCCL_TYPES_H_
