#ifndef MUSTER_DATA_TYPE_H_
#define MUSTER_DATA_TYPE_H_

#include "muster/cxx17.h"

#include <cstddef>
#include <type_traits>

#include "absl/strings/string_view.h"

namespace muster {

// The element types of tensors: the types of the safetensors format. Muster stores and moves all of
// them. A data plane returns UNIMPLEMENTED for a type that it does not support, and says which data
// plane does. Gloo moves all of them, but has no arithmetic on bool and on floats of 16 and 8 bits.
// NCCL has neither bool nor integers of 16 bits, and has floats of 8 bits since 2.24.
enum class DataType {
  kBool,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat8E4m3,  // OCP 8-bit floats
  kFloat8E5m2,
  kFloat16,   // IEEE half precision
  kBfloat16,  // the upper half of a float32
  kFloat32,
  kFloat64,
};

// Returns the size of one element in bytes; 0 for a value that is no enumerator.
size_t SizeOf(DataType type);

// Returns the name of the type, "float32"; empty for a value that is no enumerator.
absl::string_view NameOf(DataType type);

// Returns the DataType of T: bool, float, double, or an integer of 8 to 64 bits. With muster/nccl.h
// also __half and __nv_bfloat16.
template <class T>
constexpr DataType DataTypeOf() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "no tensor has elements of this type");
  if constexpr (std::is_same_v<T, bool>) {
    return DataType::kBool;
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? DataType::kFloat32 : DataType::kFloat64;
  } else if constexpr (sizeof(T) == 1) {
    return std::is_signed_v<T> ? DataType::kInt8 : DataType::kUint8;
  } else if constexpr (sizeof(T) == 2) {
    return std::is_signed_v<T> ? DataType::kInt16 : DataType::kUint16;
  } else if constexpr (sizeof(T) == 4) {
    return std::is_signed_v<T> ? DataType::kInt32 : DataType::kUint32;
  } else {
    return std::is_signed_v<T> ? DataType::kInt64 : DataType::kUint64;
  }
}

}  // namespace muster

#endif  // MUSTER_DATA_TYPE_H_
