#include "muster/data_type.h"

namespace muster {
namespace {

struct Row {
  absl::string_view name;
  size_t size;
};

Row RowOf(DataType type) {
  switch (type) {
    case DataType::kBool:
      return {"bool", 1};
    case DataType::kUint8:
      return {"uint8", 1};
    case DataType::kInt8:
      return {"int8", 1};
    case DataType::kUint16:
      return {"uint16", 2};
    case DataType::kInt16:
      return {"int16", 2};
    case DataType::kUint32:
      return {"uint32", 4};
    case DataType::kInt32:
      return {"int32", 4};
    case DataType::kUint64:
      return {"uint64", 8};
    case DataType::kInt64:
      return {"int64", 8};
    case DataType::kFloat8E4m3:
      return {"float8_e4m3", 1};
    case DataType::kFloat8E5m2:
      return {"float8_e5m2", 1};
    case DataType::kFloat16:
      return {"float16", 2};
    case DataType::kBfloat16:
      return {"bfloat16", 2};
    case DataType::kFloat32:
      return {"float32", 4};
    case DataType::kFloat64:
      return {"float64", 8};
  }
  return {"", 0};
}

}  // namespace

size_t SizeOf(DataType type) { return RowOf(type).size; }
absl::string_view NameOf(DataType type) { return RowOf(type).name; }

}  // namespace muster
