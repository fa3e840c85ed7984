// Tests of the check of values: right values pass, and wrong ones are counted.

#include "examples/allreduce/values.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace allreduce {
namespace {

using muster::DataType;
using muster::ReduceOp;

constexpr int kRanks = 3;
constexpr size_t kCount = 50;

Work Of(Collective collective, DataType type, ReduceOp op = ReduceOp::kSum) {
  return {collective, type, op, kCount, kRanks};
}

template <class T>
std::vector<T> ElementsOf(const std::string& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

template <class T>
std::string BytesOf(const std::vector<T>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
}

// Returns the expected result of an all-reduce of float32.
std::vector<float> Sums(const Work& work) {
  std::vector<float> sums(work.count);
  for (int rank = 0; rank < work.ranks; ++rank) {
    const std::vector<float> input = ElementsOf<float>(Input(work, rank));
    for (size_t i = 0; i < work.count; ++i) sums[i] += input[i];
  }
  return sums;
}

TEST(CountWrong, FindsNothingInARightAllReduce) {
  const Work work = Of(Collective::kAllReduce, DataType::kFloat32);
  EXPECT_EQ(CountWrong(work, 0, BytesOf(Sums(work))), 0u);
}

TEST(CountWrong, CountsEachWrongElement) {
  const Work work = Of(Collective::kAllReduce, DataType::kFloat32);
  std::vector<float> sums = Sums(work);
  sums[3] += 0.01F;
  sums[7] = std::numeric_limits<float>::quiet_NaN();
  sums[49] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(CountWrong(work, 0, BytesOf(sums)), 3u);
}

TEST(CountWrong, FindsAResultThatWasNotReduced) {
  for (ReduceOp op :
       {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kAverage}) {
    const Work work = Of(Collective::kAllReduce, DataType::kInt32, op);
    EXPECT_GT(CountWrong(work, 0, Input(work, 0)), kCount / 4) << NameOf(op);
  }
}

TEST(CountWrong, KnowsWhoseDataABroadcastAndARingBring) {
  for (DataType type : {DataType::kFloat16, DataType::kBfloat16, DataType::kUint8}) {
    const Work broadcast = Of(Collective::kBroadcast, type);
    EXPECT_EQ(CountWrong(broadcast, 2, Input(broadcast, 0)), 0u) << NameOf(type);
    EXPECT_GT(CountWrong(broadcast, 2, Input(broadcast, 2)), 0u) << NameOf(type);
    const Work ring = Of(Collective::kSendRecv, type);
    EXPECT_EQ(CountWrong(ring, 0, Input(ring, kRanks - 1)), 0u) << NameOf(type);
    EXPECT_GT(CountWrong(ring, 0, Input(ring, 1)), 0u) << NameOf(type);
  }
}

TEST(CountWrong, FindsPartsInTheWrongOrder) {
  const Work work = Of(Collective::kAllGather, DataType::kInt64);
  EXPECT_EQ(CountWrong(work, 0, Input(work, 0) + Input(work, 1) + Input(work, 2)), 0u);
  EXPECT_GT(CountWrong(work, 0, Input(work, 1) + Input(work, 0) + Input(work, 2)), 0u);
}

TEST(Input, HasTheBitsOfItsType) {
  // Rank 1 begins with 1, 2, 0.
  const Work half = Of(Collective::kAllReduce, DataType::kFloat16);
  const auto half_bits = ElementsOf<uint16_t>(Input(half, 1));
  EXPECT_EQ(std::vector<uint16_t>(half_bits.begin(), half_bits.begin() + 3),
            (std::vector<uint16_t>{0x3C00, 0x4000, 0}));
  const Work bfloat = Of(Collective::kAllReduce, DataType::kBfloat16);
  const auto bfloat_bits = ElementsOf<uint16_t>(Input(bfloat, 1));
  EXPECT_EQ(std::vector<uint16_t>(bfloat_bits.begin(), bfloat_bits.begin() + 3),
            (std::vector<uint16_t>{0x3F80, 0x4000, 0}));
}

}  // namespace
}  // namespace allreduce
