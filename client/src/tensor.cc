#include "muster/tensor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster {
namespace {

struct TypeRow {
  const char* name;
  size_t size;
};

TypeRow RowOf(TensorType type) {
  switch (type) {
    case TensorType::kBool:
      return {"BOOL", 1};
    case TensorType::kUint8:
      return {"U8", 1};
    case TensorType::kInt8:
      return {"I8", 1};
    case TensorType::kFloat8E5m2:
      return {"F8_E5M2", 1};
    case TensorType::kFloat8E4m3:
      return {"F8_E4M3", 1};
    case TensorType::kUint16:
      return {"U16", 2};
    case TensorType::kInt16:
      return {"I16", 2};
    case TensorType::kFloat16:
      return {"F16", 2};
    case TensorType::kBfloat16:
      return {"BF16", 2};
    case TensorType::kUint32:
      return {"U32", 4};
    case TensorType::kInt32:
      return {"I32", 4};
    case TensorType::kFloat32:
      return {"F32", 4};
    case TensorType::kUint64:
      return {"U64", 8};
    case TensorType::kInt64:
      return {"I64", 8};
    case TensorType::kFloat64:
      return {"F64", 8};
  }
  return {"?", 1};
}

}  // namespace

size_t SizeOf(TensorType type) { return RowOf(type).size; }
absl::string_view NameOf(TensorType type) { return RowOf(type).name; }

std::string DescribeTensor(const TensorView& tensor) {
  return absl::StrCat(NameOf(tensor.type), " [", absl::StrJoin(tensor.shape, ", "), "]");
}

absl::Status CheckShape(const TensorView& tensor) {
  size_t size = SizeOf(tensor.type);
  bool fits = true;
  for (const int64_t length : tensor.shape) {
    fits = fits && length >= 0 && !__builtin_mul_overflow(size, length, &size);
  }
  if (fits && size == tensor.num_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a tensor of type and shape ",
                                                 DescribeTensor(tensor), " cannot have ",
                                                 tensor.num_bytes, " bytes"));
}

namespace internal {

absl::Status CheckElements(const TensorView& tensor, TensorType type, size_t alignment) {
  if (tensor.type != type) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tensor's elements are ", NameOf(tensor.type), ", not ", NameOf(type)));
  }
  if (reinterpret_cast<uintptr_t>(tensor.data) % alignment == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the tensor's data is not aligned to ", alignment, " bytes; copy it first"));
}

}  // namespace internal
}  // namespace muster
