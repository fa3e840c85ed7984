#ifndef MUSTER_TESTS_GPU_CHECKS_REFERENCE_H_
#define MUSTER_TESTS_GPU_CHECKS_REFERENCE_H_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "muster/communicator.h"

// Inputs, and the CPU's results for them. Even 8-bit floats hold every value, and every result on
// 1, 2, 4 or 8 ranks, exactly. So results must be equal.
namespace muster::gpu {

// The type of the computation, from which the result is converted. Integers wrap around.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <class T>
T FromWide(Wide<T> value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

template <class T>
Wide<T> ToWide(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<Wide<T>>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

// Returns element `i` of the input of `rank`.
template <class T>
T InputOf(int rank, size_t i, ReduceOp op) {
  const size_t mix = 5 * static_cast<size_t>(rank) + 3 * i;
  if (op == ReduceOp::kProduct) return FromWide<T>(static_cast<Wide<T>>(mix % 2 + 1));
  // 8-bit integers are large enough to wrap around when they are added.
  if constexpr (std::is_same_v<T, uint8_t>) {
    if (op == ReduceOp::kSum) return static_cast<uint8_t>(200 + mix % 50);
  }
  const Wide<T> value = static_cast<Wide<T>>(mix % 5);  // 0 to 4
  const bool has_sign = !std::is_unsigned_v<T>;
  return FromWide<T>(has_sign ? value - 2 : value);
}

template <class T>
std::vector<T> InputsOf(int rank, size_t count, ReduceOp op = ReduceOp::kSum) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = InputOf<T>(rank, i, op);
  return values;
}

template <class W>
W Combine(W a, W b, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return a + b;
    case ReduceOp::kProduct:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    default:  // NCCL has no other operations
      break;
  }
  return a;
}

// Returns elements [begin, begin + count) of the reduction of all ranks' input.
template <class T>
std::vector<T> ReducedOf(int ranks, size_t begin, size_t count, ReduceOp op) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    Wide<T> value = ToWide(InputOf<T>(0, begin + i, op));
    for (int rank = 1; rank < ranks; ++rank) {
      value = Combine(value, ToWide(InputOf<T>(rank, begin + i, op)), op);
    }
    values[i] = FromWide<T>(op == ReduceOp::kAverage ? value / ranks : value);
  }
  return values;
}

// Returns OK, or an error that names the first wrong element.
template <class T>
absl::Status ExpectEqual(const std::vector<T>& got, const std::vector<T>& expected,
                         const std::string& what) {
  if (got.size() != expected.size()) {
    return absl::InternalError(
        absl::StrCat(what, ": ", got.size(), " elements, expected ", expected.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (ToWide(got[i]) == ToWide(expected[i])) continue;
    return absl::InternalError(absl::StrCat(what, ": element ", i, " of ", got.size(), " is ",
                                            ToWide(got[i]), ", expected ", ToWide(expected[i])));
  }
  return absl::OkStatus();
}

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_CHECKS_REFERENCE_H_
