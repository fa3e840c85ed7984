#include "examples/allreduce/element.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace allreduce {
namespace {

using muster::DataType;

template <class T>
void StoreAs(double value, void* element) {
  const T converted = static_cast<T>(value);
  std::memcpy(element, &converted, sizeof(T));
}

template <class T>
double LoadAs(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return static_cast<double>(value);
}

// Writes IEEE half precision: 1 bit of sign, 5 of exponent (bias 15), 10 of fraction.
void StoreHalf(double value, void* element) {
  uint16_t bits = std::signbit(value) ? 0x8000 : 0;
  if (value != 0) {
    int exponent;
    const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
    bits |= static_cast<uint16_t>((exponent + 14) << 10);
    bits |= static_cast<uint16_t>(std::lround((fraction * 2 - 1) * 1024));
  }
  std::memcpy(element, &bits, sizeof(bits));
}

double LoadHalf(const void* element) {
  uint16_t bits;
  std::memcpy(&bits, element, sizeof(bits));
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// Writes the upper half of a float32.
void StoreBfloat16(double value, void* element) {
  const float wide = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &wide, sizeof(bits));
  const auto upper = static_cast<uint16_t>(bits >> 16);
  std::memcpy(element, &upper, sizeof(upper));
}

double LoadBfloat16(const void* element) {
  uint16_t upper;
  std::memcpy(&upper, element, sizeof(upper));
  const uint32_t bits = static_cast<uint32_t>(upper) << 16;
  return LoadAs<float>(&bits);
}

}  // namespace

void Store(DataType type, double value, void* element) {
  switch (type) {
    case DataType::kFloat32:
      return StoreAs<float>(value, element);
    case DataType::kFloat64:
      return StoreAs<double>(value, element);
    case DataType::kInt32:
      return StoreAs<int32_t>(value, element);
    case DataType::kInt64:
      return StoreAs<int64_t>(value, element);
    case DataType::kUint8:
      return StoreAs<uint8_t>(value, element);
    case DataType::kInt8:
      return StoreAs<int8_t>(value, element);
    case DataType::kUint32:
      return StoreAs<uint32_t>(value, element);
    case DataType::kUint64:
      return StoreAs<uint64_t>(value, element);
    case DataType::kFloat16:
      return StoreHalf(value, element);
    case DataType::kBfloat16:
      return StoreBfloat16(value, element);
    default:  // 8-bit floats, and types that NCCL does not have
      return;
  }
}

double Load(DataType type, const void* element) {
  switch (type) {
    case DataType::kFloat32:
      return LoadAs<float>(element);
    case DataType::kFloat64:
      return LoadAs<double>(element);
    case DataType::kInt32:
      return LoadAs<int32_t>(element);
    case DataType::kInt64:
      return LoadAs<int64_t>(element);
    case DataType::kUint8:
      return LoadAs<uint8_t>(element);
    case DataType::kInt8:
      return LoadAs<int8_t>(element);
    case DataType::kUint32:
      return LoadAs<uint32_t>(element);
    case DataType::kUint64:
      return LoadAs<uint64_t>(element);
    case DataType::kFloat16:
      return LoadHalf(element);
    case DataType::kBfloat16:
      return LoadBfloat16(element);
    default:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double Epsilon(DataType type) {
  switch (type) {
    case DataType::kFloat64:
      return std::ldexp(1, -52);
    case DataType::kFloat32:
      return std::ldexp(1, -23);
    case DataType::kFloat16:
      return std::ldexp(1, -10);
    case DataType::kBfloat16:
      return std::ldexp(1, -7);
    default:
      return 0;
  }
}

}  // namespace allreduce
