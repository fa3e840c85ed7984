#include "client/nccl/device/nccl_types.h"

#include "absl/strings/str_cat.h"
#include "client/nccl/device/features.h"

namespace muster::internal {

absl::StatusOr<ncclDataType_t> NcclType(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return ncclFloat32;
    case DataType::kFloat64:
      return ncclFloat64;
    case DataType::kInt32:
      return ncclInt32;
    case DataType::kInt64:
      return ncclInt64;
    case DataType::kUint8:
      return ncclUint8;
    case DataType::kInt8:
      return ncclInt8;
    case DataType::kUint32:
      return ncclUint32;
    case DataType::kUint64:
      return ncclUint64;
    case DataType::kFloat16:
      return ncclFloat16;
    case DataType::kBfloat16:
      return ncclBfloat16;
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      if (NcclHasFloat8()) {
        return type == DataType::kFloat8E4m3 ? kNcclFloat8E4m3 : kNcclFloat8E5m2;
      }
      return absl::UnimplementedError(absl::StrCat(
          NameOf(type), " needs NCCL ", NcclVersionText(kFloat8NcclVersion),
          " or newer; this process has loaded NCCL ", NcclVersionText(LoadedNcclVersion())));
    case DataType::kBool:
    case DataType::kUint16:
    case DataType::kInt16:
      return absl::UnimplementedError(
          absl::StrCat("NCCL has no ", NameOf(type), "; use another type, or the backend 'gloo'"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("type is ", static_cast<int>(type), ", expected one of DataType's values"));
}

absl::StatusOr<ncclRedOp_t> NcclOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ncclSum;
    case ReduceOp::kProduct:
      return ncclProd;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kMax:
      return ncclMax;
    case ReduceOp::kAverage:
      return ncclAvg;
    case ReduceOp::kBitwiseAnd:
    case ReduceOp::kBitwiseOr:
      break;
  }
  return absl::UnimplementedError(
      absl::StrCat("NCCL has no ", NameOf(op),
                   "; reduce with the backend 'gloo', or gather the values and fold them"));
}

std::string DescribeOperation(absl::string_view operation, size_t count, DataType type,
                              std::optional<ReduceOp> op) {
  return absl::StrCat(operation, " of ", count, " ", NameOf(type),
                      op ? absl::StrCat(" (", NameOf(*op), ")") : "");
}

std::string NcclVersionText(int version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

}  // namespace muster::internal
