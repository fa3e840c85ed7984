#include "client/src/workspace/safetensors_format.h"

namespace muster::internal {

absl::string_view SafetensorsName(DataType type) {
  switch (type) {
    case DataType::kBool:
      return "BOOL";
    case DataType::kUint8:
      return "U8";
    case DataType::kInt8:
      return "I8";
    case DataType::kUint16:
      return "U16";
    case DataType::kInt16:
      return "I16";
    case DataType::kUint32:
      return "U32";
    case DataType::kInt32:
      return "I32";
    case DataType::kUint64:
      return "U64";
    case DataType::kInt64:
      return "I64";
    case DataType::kFloat8E4m3:
      return "F8_E4M3";
    case DataType::kFloat8E5m2:
      return "F8_E5M2";
    case DataType::kFloat16:
      return "F16";
    case DataType::kBfloat16:
      return "BF16";
    case DataType::kFloat32:
      return "F32";
    case DataType::kFloat64:
      return "F64";
  }
  return "";
}

}  // namespace muster::internal
