#ifndef MUSTER_DATA_TYPE_H_
#define MUSTER_DATA_TYPE_H_

#include "muster/cxx17.h"

#include <cstddef>
#include <type_traits>

#include "absl/strings/string_view.h"

namespace muster {

// Types of the elements of tensors: those of the safetensors format. All of them can be stored and
// exchanged. What a data plane cannot do it refuses with UNIMPLEMENTED, saying what can: Gloo moves
// all of them and has no arithmetic on bool and on floats of 16 and 8 bits; NCCL has neither bool
// nor integers of 16 bits, and floats of 8 bits from 2.24 on.
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

// Bytes of one element; 0 for a value that is none of the enumerators.
size_t SizeOf(DataType type);

// "float32"; empty for a value that is none of the enumerators.
absl::string_view NameOf(DataType type);

// The DataType of a T: bool, float, double, and integers of 8 to 64 bits; with muster/nccl.h also
// __half and __nv_bfloat16.
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
