#include "tests/client/nccl/rank/typed_numbers.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace muster::testing {
namespace {

template <class T>
T FromDouble(double number) {
  return T(number);
}
template <>
__half FromDouble(double number) {
  return __float2half(static_cast<float>(number));
}
template <>
__nv_bfloat16 FromDouble(double number) {
  return __float2bfloat16(static_cast<float>(number));
}

template <class T>
double ToDouble(T value) {
  return static_cast<double>(value);
}
template <>
double ToDouble(__half value) {
  return __half2float(value);
}
template <>
double ToDouble(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
template <>
double ToDouble(__nv_fp8_e4m3 value) {
  return static_cast<float>(value);
}
template <>
double ToDouble(__nv_fp8_e5m2 value) {
  return static_cast<float>(value);
}

// Calls `body` with a value of the type.
template <class Body>
void WithType(DataType type, Body body) {
  switch (type) {
    case DataType::kFloat32:
      return body(float());
    case DataType::kFloat64:
      return body(double());
    case DataType::kInt32:
      return body(int32_t());
    case DataType::kInt64:
      return body(int64_t());
    case DataType::kUint8:
      return body(uint8_t());
    case DataType::kInt8:
      return body(int8_t());
    case DataType::kUint32:
      return body(uint32_t());
    case DataType::kUint64:
      return body(uint64_t());
    case DataType::kFloat16:
      return body(__half());
    case DataType::kBfloat16:
      return body(__nv_bfloat16());
    case DataType::kFloat8E4m3:
      return body(__nv_fp8_e4m3());
    case DataType::kFloat8E5m2:
      return body(__nv_fp8_e5m2());
    default:  // NCCL has no other types
      return;
  }
}

}  // namespace

const std::vector<TypeInfo>& AllTypes() {
  static const auto* const kTypes = new std::vector<TypeInfo>{
      {DataType::kFloat32, "float32", 4, false}, {DataType::kFloat64, "float64", 8, false},
      {DataType::kInt32, "int32", 4, true},      {DataType::kInt64, "int64", 8, true},
      {DataType::kUint8, "uint8", 1, true},      {DataType::kInt8, "int8", 1, true},
      {DataType::kUint32, "uint32", 4, true},    {DataType::kUint64, "uint64", 8, true},
      {DataType::kFloat16, "float16", 2, false}, {DataType::kBfloat16, "bfloat16", 2, false},
      {DataType::kFloat8E4m3, "e4m3", 1, false}, {DataType::kFloat8E5m2, "e5m2", 1, false},
  };
  return *kTypes;
}

const TypeInfo& InfoOf(DataType type) {
  return *std::find_if(AllTypes().begin(), AllTypes().end(),
                       [type](const TypeInfo& info) { return info.type == type; });
}

std::string Encode(DataType type, const std::vector<double>& numbers) {
  std::string bytes;
  WithType(type, [&](auto zero) {
    using T = decltype(zero);
    bytes.resize(numbers.size() * sizeof(T));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const T value = FromDouble<T>(numbers[i]);
      std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
    }
  });
  return bytes;
}

std::vector<double> Decode(DataType type, const std::string& bytes) {
  std::vector<double> numbers;
  WithType(type, [&](auto value) {
    for (size_t at = 0; at + sizeof value <= bytes.size(); at += sizeof value) {
      std::memcpy(&value, &bytes[at], sizeof value);
      numbers.push_back(ToDouble(value));
    }
  });
  return numbers;
}

const std::vector<ReduceOp>& AllOps() {
  static const auto* const kOps = new std::vector<ReduceOp>{
      ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kAverage};
  return *kOps;
}

double Reduced(ReduceOp op, const std::vector<double>& values, bool is_integer) {
  double result = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    if (op == ReduceOp::kProduct) result *= values[i];
    if (op == ReduceOp::kMin) result = std::min(result, values[i]);
    if (op == ReduceOp::kMax) result = std::max(result, values[i]);
    if (op == ReduceOp::kSum || op == ReduceOp::kAverage) result += values[i];
  }
  if (op != ReduceOp::kAverage) return result;
  result /= static_cast<double>(values.size());
  return is_integer ? std::trunc(result) : result;
}

}  // namespace muster::testing
