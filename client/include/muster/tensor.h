#ifndef MUSTER_TENSOR_H_
#define MUSTER_TENSOR_H_

#include "muster/cxx17.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "muster/data_type.h"

// Descriptions of tensors in the program's memory:
//
//   std::vector<float> weights(6);
//   muster::TensorView view = muster::ViewOf(weights, {2, 3});
//   absl::StatusOr<absl::Span<const float>> elements = view.As<float>();
namespace muster {

// A tensor in memory, with its elements in row-major order. Does not own the memory.
struct TensorView {
  DataType type = DataType::kUint8;  // of each element
  std::vector<int64_t> shape;        // empty: a scalar
  const void* data = nullptr;        // the first element
  size_t num_bytes = 0;              // of all elements together

  // Returns the elements. INVALID_ARGUMENT: they have another type (names both), or `data` is not
  // aligned for T. Read types that C++ lacks, such as 16-bit floats, through `data`.
  template <class T>
  absl::StatusOr<absl::Span<const T>> As() const;
};

// A tensor in memory that may be written to. Functions that change a tensor take it by value, and
// change the memory that it points to.
struct MutableTensorView {
  DataType type = DataType::kUint8;  // of each element
  std::vector<int64_t> shape;        // empty: a scalar
  void* data = nullptr;              // the first element
  size_t num_bytes = 0;              // of all elements together

  // Returns the tensor for reading.
  operator TensorView() const { return {type, shape, data, num_bytes}; }
};

// A tensor together with its memory. `view` is valid as long as a copy of this object exists.
struct OwnedTensor {
  TensorView view;                      // the tensor
  std::shared_ptr<const void> storage;  // its memory
};

// Tensors by name.
using Tensors = std::map<std::string, TensorView>;

// Returns INVALID_ARGUMENT if the shape has a negative length or does not fit `num_bytes`, or OK.
absl::Status CheckShape(const TensorView& tensor);

// Returns the type and the shape: "float32 [2, 3]".
std::string DescribeTensor(const TensorView& tensor);

namespace internal {

// Returns OK if `tensor` can be read as elements of `type` with this alignment.
absl::Status CheckElements(const TensorView& tensor, DataType type, size_t alignment);

}  // namespace internal

// Returns a view of `values`, which must outlive it. Without a shape: one dimension. Functions that
// use the view check the shape.
template <class T>
TensorView ViewOf(absl::Span<const T> values, std::vector<int64_t> shape) {
  return {DataTypeOf<T>(), std::move(shape), values.data(), values.size() * sizeof(T)};
}
template <class T>
TensorView ViewOf(const std::vector<T>& values, std::vector<int64_t> shape) {
  return ViewOf(absl::MakeConstSpan(values), std::move(shape));
}
template <class T>
TensorView ViewOf(const std::vector<T>& values) {
  return ViewOf(values, {static_cast<int64_t>(values.size())});
}

// Returns a view that may be written to. A number is a scalar.
template <class T>
MutableTensorView MutableViewOf(absl::Span<T> values, std::vector<int64_t> shape) {
  return {DataTypeOf<T>(), std::move(shape), values.data(), values.size() * sizeof(T)};
}
template <class T>
MutableTensorView MutableViewOf(absl::Span<T> values) {
  return MutableViewOf(values, {static_cast<int64_t>(values.size())});
}
template <class T>
MutableTensorView MutableViewOf(std::vector<T>& values) {
  return MutableViewOf(absl::MakeSpan(values));
}
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
MutableTensorView MutableViewOf(T& value) {
  return MutableViewOf(absl::MakeSpan(&value, 1), {});
}
inline MutableTensorView MutableViewOf(const MutableTensorView& view) { return view; }

template <class T>
absl::StatusOr<absl::Span<const T>> TensorView::As() const {
  absl::Status status =
      internal::CheckElements(*this, DataTypeOf<std::remove_cv_t<T>>(), alignof(T));
  if (!status.ok()) return status;
  return absl::MakeConstSpan(static_cast<const T*>(data), num_bytes / sizeof(T));
}

}  // namespace muster

#endif  // MUSTER_TENSOR_H_
