// Tests of sizes, counts and bandwidths, as nccl-tests defines them.

#include "examples/allreduce/work.h"

#include "gtest/gtest.h"

namespace allreduce {
namespace {

using muster::DataType;
using muster::ReduceOp;

Work Of(Collective collective, DataType type, int ranks, size_t bytes) {
  return WorkOfBytes({collective, type, ReduceOp::kSum, 0, ranks}, bytes);
}

TEST(WorkOfBytes, CountsWholeElements) {
  EXPECT_EQ(Of(Collective::kAllReduce, DataType::kFloat32, 4, 4096).count, 1024u);
  EXPECT_EQ(Of(Collective::kAllReduce, DataType::kFloat64, 4, 4097).count, 512u);
  EXPECT_EQ(Of(Collective::kBroadcast, DataType::kBfloat16, 4, 4096).count, 2048u);
}

TEST(WorkOfBytes, HasOneElementAtLeast) {
  EXPECT_EQ(Of(Collective::kReduce, DataType::kFloat64, 2, 1).count, 1u);
  EXPECT_EQ(Of(Collective::kAllGather, DataType::kFloat64, 16, 8).count, 1u);
}

TEST(WorkOfBytes, GivesEachRankAPartOfTheWhole) {
  const Work gather = Of(Collective::kAllGather, DataType::kFloat32, 3, 4096);
  EXPECT_EQ(gather.count, 341u);
  EXPECT_EQ(InCount(gather), 341u);
  EXPECT_EQ(OutCount(gather), 3 * 341u);
  EXPECT_EQ(Bytes(gather), 4 * 3 * 341u);

  const Work scatter = Of(Collective::kReduceScatter, DataType::kFloat32, 3, 4096);
  EXPECT_EQ(InCount(scatter), 3 * 341u);
  EXPECT_EQ(OutCount(scatter), 341u);
  EXPECT_EQ(Bytes(scatter), 4 * 3 * 341u);
}

TEST(BusFactor, IsThatOfNcclTests) {
  const auto factor = [](Collective collective, int ranks) {
    return BusFactor(Of(collective, DataType::kFloat32, ranks, 4096));
  };
  EXPECT_DOUBLE_EQ(factor(Collective::kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(factor(Collective::kAllReduce, 1), 0);
  EXPECT_DOUBLE_EQ(factor(Collective::kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(factor(Collective::kReduceScatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(factor(Collective::kBroadcast, 4), 1);
  EXPECT_DOUBLE_EQ(factor(Collective::kReduce, 4), 1);
  EXPECT_DOUBLE_EQ(factor(Collective::kSendRecv, 4), 1);
}

}  // namespace
}  // namespace allreduce
