// Tests how the plug-in counts NCCL's operations.

#include "client/nccl/profiler/operations.h"
#include "common/rank_activity.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/watched_rank.h"

namespace muster {
namespace {

using nccl_profiler::BytesOf;
using testing::Only;
using testing::Watch;

// The activity is looked up once in a process.
class OperationsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { activity_ = Watch().release(); }
  static RankActivity* activity_;
};
RankActivity* OperationsTest::activity_ = nullptr;

TEST_F(OperationsTest, WhatEndsTwiceOrWasNeverBegunIsIgnored) {
  nccl_profiler::Operations operations("one");
  const uint64_t first = operations.Begin("AllReduce", 4, /*channels=*/2);
  operations.EndChannel(first);
  EXPECT_EQ(Only(*activity_).ended, 0);
  operations.EndChannel(first);
  operations.EndChannel(first);
  operations.EndChannel(0);
  operations.EndChannel(77);
  EXPECT_EQ(Only(*activity_).ended, 1);
  operations.Begin("Broadcast", 4, /*channels=*/0);  // has no kernel
  EXPECT_EQ(Only(*activity_).ended, 2);
}

TEST_F(OperationsTest, WhatIsTooLongAgoCountsAsDone) {
  nccl_profiler::Operations operations("many");
  for (int i = 0; i < 5000; ++i) operations.Begin("AllReduce", 4, 1);
  EXPECT_EQ(Only(*activity_).begun, 5000);
  EXPECT_EQ(Only(*activity_).ended, 5000 - 4096);
}

TEST_F(OperationsTest, SizesOfTypes) {
  EXPECT_EQ(BytesOf("ncclFloat32", 10), 40);
  EXPECT_EQ(BytesOf("ncclBfloat16", 10), 20);
  EXPECT_EQ(BytesOf("ncclFloat8e4m3", 10), 10);
  EXPECT_EQ(BytesOf("somethingNew", 10), 0);
}

}  // namespace
}  // namespace muster
