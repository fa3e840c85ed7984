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

namespace muster {

// A tensor in the memory of this process: elements in row-major order. Does not own them.
struct TensorView {
  DataType type = DataType::kUint8;  // of each element
  std::vector<int64_t> shape;        // empty: a scalar
  const void* data = nullptr;        // the first element
  size_t num_bytes = 0;              // of all elements together

  // The elements. INVALID_ARGUMENT, naming both, if they are of another type, or if the data is not
  // aligned for T. Types without a C++ counterpart (16-bit floats...) are read through `data`.
  template <class T>
  absl::StatusOr<absl::Span<const T>> As() const;
};

// The same, to be written to. A helper that changes a tensor takes one of these by value: what it
// points to is changed.
struct MutableTensorView {
  DataType type = DataType::kUint8;  // of each element
  std::vector<int64_t> shape;        // empty: a scalar
  void* data = nullptr;              // the first element
  size_t num_bytes = 0;              // of all elements together

  // The same, to be read.
  operator TensorView() const { return {type, shape, data, num_bytes}; }
};

// A tensor and the memory in which it is: `view` is good as long as a copy of this is.
struct OwnedTensor {
  TensorView view;                      // of all of it
  std::shared_ptr<const void> storage;  // of what `view` shows
};

// Tensors by name.
using Tensors = std::map<std::string, TensorView>;

// INVALID_ARGUMENT if the shape has a negative length, or another size than `num_bytes`.
absl::Status CheckShape(const TensorView& tensor);

// "float32 [2, 3]".
std::string DescribeTensor(const TensorView& tensor);

namespace internal {

// OK if `tensor` can be read as elements of `type` with this alignment.
absl::Status CheckElements(const TensorView& tensor, DataType type, size_t alignment);

}  // namespace internal

// A view of `values`, which must outlive it. Without a shape: one dimension. Whether the shape fits
// is checked where the view is used.
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

// The same for elements that are to be written to; a number is a scalar.
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
