#include "muster/tensor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster {
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

absl::Status CheckElements(const TensorView& tensor, DataType type, size_t alignment) {
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
