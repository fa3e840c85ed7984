#include "tests/nccl/fake/nccl/operations/reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace fake_nccl {
namespace {

// Computes types narrower than float in float, and rounds each step, as on the device.
template <class T>
float Widen(T value) {
  return static_cast<float>(value);
}
template <>
float Widen(__half value) {
  return __half2float(value);
}
template <>
float Widen(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

template <class T>
T Narrow(float value) {
  return T(value);
}
template <>
__half Narrow(float value) {
  return __float2half(value);
}
template <>
__nv_bfloat16 Narrow(float value) {
  return __float2bfloat16(value);
}

template <class T>
T Apply(ncclRedOp_t op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // wraps around
    const auto wide_a = static_cast<uint64_t>(static_cast<Unsigned>(a));
    const auto wide_b = static_cast<uint64_t>(static_cast<Unsigned>(b));
    if (op == ncclSum || op == ncclAvg) return static_cast<T>(wide_a + wide_b);
    if (op == ncclProd) return static_cast<T>(wide_a * wide_b);
  } else if constexpr (!std::is_floating_point_v<T>) {
    return Narrow<T>(Apply<float>(op, Widen(a), Widen(b)));
  } else {
    if (op == ncclSum || op == ncclAvg) return a + b;
    if (op == ncclProd) return a * b;
  }
  if constexpr (std::is_arithmetic_v<T>) return op == ncclMax ? std::max(a, b) : std::min(a, b);
}

template <class T>
T Before(ncclRedOp_t op, T value, size_t ranks) {
  if (op != ncclAvg || std::is_integral_v<T>) return value;
  if constexpr (std::is_floating_point_v<T>) {
    return value * (T(1) / static_cast<T>(ranks));
  } else if constexpr (!std::is_integral_v<T>) {
    const T scale = Narrow<T>(1.0f / static_cast<float>(ranks));
    return Narrow<T>(Widen(value) * Widen(scale));
  }
  return value;
}

template <class T>
T After(ncclRedOp_t op, T value, size_t ranks) {
  if constexpr (std::is_integral_v<T>) {
    if (op == ncclAvg) return static_cast<T>(value / static_cast<T>(ranks));
  }
  return value;
}

template <class T>
T Load(const char* buffer, size_t index) {
  T value;
  std::memcpy(&value, buffer + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void ReduceAs(const std::vector<const char*>& in, size_t count, ncclRedOp_t op, char* out) {
  for (size_t i = 0; i < count; ++i) {
    T value = Before(op, Load<T>(in[0], i), in.size());
    for (size_t rank = 1; rank < in.size(); ++rank) {
      value = Apply(op, value, Before(op, Load<T>(in[rank], i), in.size()));
    }
    value = After(op, value, in.size());
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

// Calls `body` with a value of the type.
template <class Body>
void WithType(ncclDataType_t type, Body body) {
  switch (type) {
    case ncclInt8:
      return body(int8_t());
    case ncclUint8:
      return body(uint8_t());
    case ncclInt32:
      return body(int32_t());
    case ncclUint32:
      return body(uint32_t());
    case ncclInt64:
      return body(int64_t());
    case ncclUint64:
      return body(uint64_t());
    case ncclFloat16:
      return body(__half());
    case ncclFloat32:
      return body(float());
    case ncclFloat64:
      return body(double());
    case ncclBfloat16:
      return body(__nv_bfloat16());
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
    case ncclFloat8e4m3:
      return body(__nv_fp8_e4m3());
    case ncclFloat8e5m2:
      return body(__nv_fp8_e5m2());
#endif
    default:
      return;
  }
}

}  // namespace

size_t SizeOf(ncclDataType_t type) {
  size_t size = 0;
  WithType(type, [&](auto value) { size = sizeof value; });
  return size;
}

void Reduce(const std::vector<const char*>& in, size_t count, ncclDataType_t type, ncclRedOp_t op,
            char* out) {
  WithType(type, [&](auto value) { ReduceAs<decltype(value)>(in, count, op, out); });
}

}  // namespace fake_nccl
