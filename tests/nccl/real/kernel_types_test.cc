// Tests the arithmetic of the real NCCL's kernels on the CPU: every type and operation.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <nccl.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nccl/real/kernel_rank.h"

namespace muster::testing {
namespace {

constexpr int kRanks = 4;

const Layout& FourRanks() {
  static const auto* const layout = new Layout{"FourRanks", kRanks, kRanks};
  return *layout;
}

template <class T>
double Value(T value) {
  return static_cast<double>(value);
}
template <>
double Value(__half value) {
  return __half2float(value);
}
template <>
double Value(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

template <class T>
T Of(double value) {
  return static_cast<T>(static_cast<float>(value));
}

double ReduceValues(ncclRedOp_t op, const std::vector<double>& values) {
  double result = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    const double value = values[i];
    if (op == ncclSum || op == ncclAvg) result += value;
    if (op == ncclProd) result *= value;
    if (op == ncclMin) result = std::min(result, value);
    if (op == ncclMax) result = std::max(result, value);
  }
  return result;
}

// Returns what rank `rank` contributes for element `i`: multiples of 4, so that averages are exact.
double Given(ncclRedOp_t op, int rank, size_t i, bool is_signed) {
  if (op == ncclProd) return (i + rank) % 3 == 0 ? 2 : 1;
  const double value = static_cast<double>((i * 7 + rank * 3) % 5) * 4;
  return is_signed && (i + rank) % 2 == 1 ? -value : value;
}

template <class T>
void CheckType(Rank& rank, ncclDataType_t type, ncclRedOp_t op, bool is_signed) {
  constexpr size_t kCount = 77;
  std::vector<T> input(kCount);
  std::vector<double> want(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    std::vector<double> values;
    for (int peer = 0; peer < kRanks; ++peer) values.push_back(Given(op, peer, i, is_signed));
    input[i] = Of<T>(values[rank.rank()]);
    want[i] = ReduceValues(op, values) / (op == ncclAvg ? kRanks : 1);
  }
  Buffer<T> buffer(input);
  EXPECT_EQ(
      ncclAllReduce(buffer.data(), buffer.data(), kCount, type, op, rank.comm(), rank.stream()),
      ncclSuccess);
  rank.Wait();
  std::vector<double> got;
  for (const T value : buffer.Get()) got.push_back(Value(value));
  ExpectSame(got, want, "type " + std::to_string(type) + ", operation " + std::to_string(op));
}

TEST(NcclKernelTypes, EveryTypeAndOperation) {
  ForEachRank(FourRanks(), [](Rank& rank) {
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMin, ncclMax, ncclAvg}) {
      CheckType<int8_t>(rank, ncclInt8, op, true);
      CheckType<uint8_t>(rank, ncclUint8, op, false);
      CheckType<int32_t>(rank, ncclInt32, op, true);
      CheckType<uint32_t>(rank, ncclUint32, op, false);
      CheckType<int64_t>(rank, ncclInt64, op, true);
      CheckType<uint64_t>(rank, ncclUint64, op, false);
      CheckType<__half>(rank, ncclFloat16, op, true);
      CheckType<float>(rank, ncclFloat, op, true);
      CheckType<double>(rank, ncclDouble, op, true);
      CheckType<__nv_bfloat16>(rank, ncclBfloat16, op, true);
    }
  });
}

// NCCL has these types since 2.24. e5m2 has too few digits for the sums.
TEST(NcclKernelTypes, EightBitFloats) {
  ForEachRank(FourRanks(), [](Rank& rank) {
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMin, ncclMax, ncclAvg}) {
      CheckType<__nv_fp8_e4m3>(rank, ncclFloat8e4m3, op, true);
    }
    for (const ncclRedOp_t op : {ncclProd, ncclMin, ncclMax}) {
      CheckType<__nv_fp8_e5m2>(rank, ncclFloat8e5m2, op, true);
    }
  });
}

// The average of integers rounds toward zero.
TEST(NcclKernelTypes, AverageOfNegativeIntegersRoundsTowardZero) {
  ForEachRank(FourRanks(), [](Rank& rank) {
    Buffer<int8_t> buffer(std::vector<int8_t>{static_cast<int8_t>(rank.rank() == 0 ? -7 : 0)});
    EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt8, ncclAvg, rank.comm(),
                            rank.stream()),
              ncclSuccess);
    rank.Wait();
    EXPECT_EQ(buffer.Get(), std::vector<int8_t>{-1});
  });
}

void CheckScaledSum(Rank& rank, void* scalar, ncclScalarResidence_t residence) {
  ncclRedOp_t op;
  EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, scalar, ncclFloat, residence, rank.comm()), ncclSuccess);
  Buffer<float> input(InputOf(rank.rank(), 100));
  Buffer<float> output(100);
  EXPECT_EQ(
      ncclAllReduce(input.data(), output.data(), 100, ncclFloat, op, rank.comm(), rank.stream()),
      ncclSuccess);
  rank.Wait();
  EXPECT_EQ(ncclRedOpDestroy(op, rank.comm()), ncclSuccess);
  std::vector<float> want = SumOf(rank.size(), 100);
  for (float& value : want) value *= 0.5f;
  ExpectSame(output.Get(), want, "scaled sum");
}

void CheckScaledSums(Rank& rank) {
  float half = 0.5f;
  CheckScaledSum(rank, &half, ncclScalarHostImmediate);
  Buffer<float> on_device(std::vector<float>{half});
  CheckScaledSum(rank, on_device.data(), ncclScalarDevice);
}

TEST(NcclKernelTypes, ScaledSum) { ForEachRank(FourRanks(), CheckScaledSums); }

TEST(NcclKernelOneRank, ScalesAndCopies) {
  ForEachRank({"OneRank", 1, 1}, [](Rank& rank) {
    CheckScaledSums(rank);
    Buffer<float> input(InputOf(0, 1000));
    Buffer<float> output(1000);
    EXPECT_EQ(ncclAllReduce(input.data(), output.data(), 1000, ncclFloat, ncclSum, rank.comm(),
                            rank.stream()),
              ncclSuccess);
    rank.Wait();
    ExpectSame(output.Get(), InputOf(0, 1000), "copy");
  });
}

}  // namespace
}  // namespace muster::testing
