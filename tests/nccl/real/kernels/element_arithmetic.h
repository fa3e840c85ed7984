#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_ELEMENT_ARITHMETIC_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_ELEMENT_ARITHMETIC_H_

#include <nccl.h>
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
#include <cuda_fp8.h>
#endif
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

// The arithmetic of single elements, as GPUs of sm_90 do it. Types narrower than float compute in
// float and round once. That gives the same bits, since float has more than twice their digits. fp8
// is rounded to half first.
namespace cpu_nccl {

template <class T>
T Load(const char* from) {
  T value;
  std::memcpy(static_cast<void*>(&value), from, sizeof value);
  return value;
}

template <class T>
void Store(T value, char* to) {
  std::memcpy(to, &value, sizeof value);
}

// Returns the element whose bits are the low bits of an operation's argument.
template <class T>
T FromArgument(uint64_t argument) {
  T value;
  std::memcpy(static_cast<void*>(&value), &argument, sizeof value);
  return value;
}

inline float Widen(float value) { return value; }
inline double Widen(double value) { return value; }
inline float Widen(__half value) { return __half2float(value); }
inline float Widen(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
T Narrow(double value) {
  return static_cast<T>(value);
}
template <class T>
T Narrow(float value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return T(__float2half_rn(value));
  }
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
inline float Widen(__nv_fp8_e4m3 value) { return __half2float(static_cast<__half>(value)); }
inline float Widen(__nv_fp8_e5m2 value) { return __half2float(static_cast<__half>(value)); }
#endif

template <class T>
T Add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(a + b);
  } else {
    return Narrow<T>(Widen(a) + Widen(b));
  }
}

// Multiplies integers as unsigned 64-bit numbers, whose overflow is defined.
template <class T>
T Multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return Narrow<T>(Widen(a) * Widen(b));
  }
}

// Returns PTX's min or max: a number wins over NaN, and -0 is less than +0.
template <class T>
T FloatExtreme(T a, T b, bool want_min) {
  const auto x = Widen(a);
  const auto y = Widen(b);
  if (std::isnan(x)) return b;
  if (std::isnan(y)) return a;
  const bool a_is_less = x == y ? std::signbit(x) : x < y;
  return a_is_less == want_min ? a : b;
}

// Returns NCCL's min or max. For integers, its argument is a mask that turns every case into an
// unsigned minimum: the sign bit for signed types, all bits for a maximum. For floating-point
// types, bit 0 means a maximum.
template <class T>
T Extreme(T a, T b, uint64_t argument) {
  if constexpr (std::is_integral_v<T>) {
    const T mask = FromArgument<T>(argument);
    return static_cast<T>(a ^ mask) < static_cast<T>(b ^ mask) ? a : b;
  } else {
    return FloatExtreme(a, b, (argument & 1) == 0);
  }
}

// Divides an unsigned element, which holds a signed one if bit 0 of the argument is set.
template <class T>
T Divide(T value, uint64_t argument) {
  const auto divisor = static_cast<int64_t>(static_cast<uint32_t>(argument >> 1));
  if ((argument & 1) == 0) return static_cast<T>(value / static_cast<uint64_t>(divisor));
  return static_cast<T>(static_cast<std::make_signed_t<T>>(value) / divisor);
}

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_ELEMENT_ARITHMETIC_H_
