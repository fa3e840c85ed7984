#ifndef MUSTER_TENSOR_H_
#define MUSTER_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster {

// Element types that can be stored and exchanged: those of the safetensors format.
enum class TensorType {
  kBool,
  kUint8,
  kInt8,
  kFloat8E5m2,
  kFloat8E4m3,
  kUint16,
  kInt16,
  kFloat16,
  kBfloat16,
  kUint32,
  kInt32,
  kFloat32,
  kUint64,
  kInt64,
  kFloat64,
};

// Bytes of one element.
size_t SizeOf(TensorType type);

// The format's name of the type: "F32", "BF16", "BOOL".
absl::string_view NameOf(TensorType type);

// A tensor in the memory of this process: elements in row-major order. Does not own them.
struct TensorView {
  TensorType type = TensorType::kUint8;
  std::vector<int64_t> shape;  // empty: a scalar
  const void* data = nullptr;
  size_t num_bytes = 0;  // of all elements together

  // The elements. INVALID_ARGUMENT, naming both, if they are of another type, or if the data is not
  // aligned for T. Types without a C++ counterpart (16-bit floats...) are read through `data`.
  template <class T>
  absl::StatusOr<absl::Span<const T>> As() const;
};

// Tensors by name.
using Tensors = std::map<std::string, TensorView>;

// INVALID_ARGUMENT if the shape has a negative length, or another size than `num_bytes`.
absl::Status CheckShape(const TensorView& tensor);

// "F32 [2, 3]".
std::string DescribeTensor(const TensorView& tensor);

namespace internal {

template <class T>
constexpr TensorType TypeOfElement() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "no tensor has elements of this type");
  if constexpr (std::is_same_v<T, bool>) {
    return TensorType::kBool;
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? TensorType::kFloat32 : TensorType::kFloat64;
  } else if constexpr (sizeof(T) == 1) {
    return std::is_signed_v<T> ? TensorType::kInt8 : TensorType::kUint8;
  } else if constexpr (sizeof(T) == 2) {
    return std::is_signed_v<T> ? TensorType::kInt16 : TensorType::kUint16;
  } else if constexpr (sizeof(T) == 4) {
    return std::is_signed_v<T> ? TensorType::kInt32 : TensorType::kUint32;
  } else {
    return std::is_signed_v<T> ? TensorType::kInt64 : TensorType::kUint64;
  }
}

// OK if `tensor` can be read as elements of `type` with this alignment.
absl::Status CheckElements(const TensorView& tensor, TensorType type, size_t alignment);

}  // namespace internal

// A view of `values`, which must outlive it. Without a shape: one dimension. Whether the shape fits
// is checked where the view is used.
template <class T>
TensorView ViewOf(absl::Span<const T> values, std::vector<int64_t> shape) {
  return {internal::TypeOfElement<T>(), std::move(shape), values.data(), values.size() * sizeof(T)};
}
template <class T>
TensorView ViewOf(const std::vector<T>& values, std::vector<int64_t> shape) {
  return ViewOf(absl::MakeConstSpan(values), std::move(shape));
}
template <class T>
TensorView ViewOf(const std::vector<T>& values) {
  return ViewOf(values, {static_cast<int64_t>(values.size())});
}

template <class T>
absl::StatusOr<absl::Span<const T>> TensorView::As() const {
  absl::Status status =
      internal::CheckElements(*this, internal::TypeOfElement<std::remove_cv_t<T>>(), alignof(T));
  if (!status.ok()) return status;
  return absl::MakeConstSpan(static_cast<const T*>(data), num_bytes / sizeof(T));
}

}  // namespace muster

#endif  // MUSTER_TENSOR_H_
