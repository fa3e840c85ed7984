#include "client/src/base/reduction.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

// Integers are added and multiplied as unsigned ones, which wrap. Signed overflow is undefined, and
// narrow unsigned integers would be promoted to signed int.
template <class T, bool = std::is_integral_v<T>>
struct WrappingType {
  using Type = std::common_type_t<std::make_unsigned_t<T>, unsigned int>;
};
template <class T>
struct WrappingType<T, false> {
  using Type = T;
};
template <class T>
using Wrapping = typename WrappingType<T>::Type;

template <class T>
struct Sum {
  static T Apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
template <class T>
struct Product {
  static T Apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
template <class T>
struct Min {
  static T Apply(T a, T b) { return std::min(a, b); }
};
template <class T>
struct Max {
  static T Apply(T a, T b) { return std::max(a, b); }
};

template <class T>
struct And {
  static T Apply(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct Or {
  static T Apply(T a, T b) { return static_cast<T>(a | b); }
};

template <class T, class Op>
void Reduce(void* out, const void* a, const void* b, size_t count) {
  T* const to = static_cast<T*>(out);
  const T* const left = static_cast<const T*>(a);
  const T* const right = static_cast<const T*>(b);
  for (size_t i = 0; i < count; ++i) to[i] = Op::Apply(left[i], right[i]);
}

template <class T>
ReduceFunction Bitwise(ReduceOp op) {
  if (op == ReduceOp::kBitwiseAnd) return &Reduce<T, And<T>>;
  if (op == ReduceOp::kBitwiseOr) return &Reduce<T, Or<T>>;
  return nullptr;
}

template <class T>
ReduceFunction ForType(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return &Reduce<T, Sum<T>>;
    case ReduceOp::kProduct:
      return &Reduce<T, Product<T>>;
    case ReduceOp::kMin:
      return &Reduce<T, Min<T>>;
    case ReduceOp::kMax:
      return &Reduce<T, Max<T>>;
    case ReduceOp::kBitwiseAnd:
    case ReduceOp::kBitwiseOr:
      if constexpr (std::is_integral_v<T>) return Bitwise<T>(op);
  }
  return nullptr;
}

template <class T>
void Divide(void* data, size_t count, int divisor) {
  T* const values = static_cast<T*>(data);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(values[i] / static_cast<T>(divisor));
}

// There may be more ranks than these types can hold, so divide as int.
template <class T>
void DivideNarrow(void* data, size_t count, int divisor) {
  T* const values = static_cast<T*>(data);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(values[i] / divisor);
}

}  // namespace

ReduceFunction ReduceFunctionFor(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kFloat32:
      return ForType<float>(op);
    case DataType::kFloat64:
      return ForType<double>(op);
    case DataType::kInt32:
      return ForType<int32_t>(op);
    case DataType::kInt64:
      return ForType<int64_t>(op);
    case DataType::kUint8:
      return ForType<uint8_t>(op);
    case DataType::kInt8:
      return ForType<int8_t>(op);
    case DataType::kUint16:
      return ForType<uint16_t>(op);
    case DataType::kInt16:
      return ForType<int16_t>(op);
    case DataType::kUint32:
      return ForType<uint32_t>(op);
    case DataType::kUint64:
      return ForType<uint64_t>(op);
    case DataType::kBool:
      return Bitwise<bool>(op);
    default:  // floats of 16 and 8 bits
      return nullptr;
  }
}

absl::Status CheckReducible(DataType type, ReduceOp op) {
  if (ReduceFunctionFor(type, op) != nullptr) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("AllReduce: there is no ", NameOf(op), " of ", NameOf(type),
                   type == DataType::kBool ? "; pass it as an int" : ""));
}

void FinishAverage(void* data, size_t count, DataType type, ReduceOp op, int ranks) {
  if (op != ReduceOp::kAverage) return;
  switch (type) {
    case DataType::kFloat32:
      return Divide<float>(data, count, ranks);
    case DataType::kFloat64:
      return Divide<double>(data, count, ranks);
    case DataType::kInt32:
      return Divide<int32_t>(data, count, ranks);
    case DataType::kInt64:
      return Divide<int64_t>(data, count, ranks);
    case DataType::kUint8:
      return DivideNarrow<uint8_t>(data, count, ranks);
    case DataType::kInt8:
      return DivideNarrow<int8_t>(data, count, ranks);
    case DataType::kUint16:
      return DivideNarrow<uint16_t>(data, count, ranks);
    case DataType::kInt16:
      return DivideNarrow<int16_t>(data, count, ranks);
    case DataType::kUint32:
      return Divide<uint32_t>(data, count, ranks);
    case DataType::kUint64:
      return Divide<uint64_t>(data, count, ranks);
    default:
      return;
  }
}

std::string FoldElements(const std::vector<std::string>& of_ranks, DataType type, ReduceOp op) {
  // The bytes of a string need not be aligned for its elements.
  const size_t bytes = of_ranks.front().size();
  const size_t count = bytes / SizeOf(type);
  std::vector<std::max_align_t> result(bytes / sizeof(std::max_align_t) + 1);
  std::vector<std::max_align_t> next(result.size());
  std::memcpy(result.data(), of_ranks.front().data(), bytes);
  const ReduceFunction reduce = ReduceFunctionFor(type, op);
  for (size_t rank = 1; rank < of_ranks.size(); ++rank) {
    std::memcpy(next.data(), of_ranks[rank].data(), bytes);
    reduce(result.data(), result.data(), next.data(), count);
  }
  FinishAverage(result.data(), count, type, op, static_cast<int>(of_ranks.size()));
  return std::string(reinterpret_cast<const char*>(result.data()), bytes);
}

}  // namespace muster::internal
