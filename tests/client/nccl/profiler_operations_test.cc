// Tests how the plug-in counts NCCL's operations.

#include "client/nccl/profiler/operation_tracker.h"
#include "common/memory/activity_reader.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/watched_rank.h"

namespace muster {
namespace {

using nccl_profiler::BytesOf;
using testing::OnlyCommunicator;
using testing::PublishActivity;

// The activity is looked up once in a process.
class OperationTrackerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { activity_ = PublishActivity().release(); }
  static ActivityReader* activity_;
};
ActivityReader* OperationTrackerTest::activity_ = nullptr;

TEST_F(OperationTrackerTest, RepeatedAndUnknownEndsAreIgnored) {
  nccl_profiler::OperationTracker operations("one");
  const uint64_t first = operations.Begin("AllReduce", 4, /*channels=*/2);
  operations.EndChannel(first);
  EXPECT_EQ(OnlyCommunicator(*activity_).ended, 0);
  operations.EndChannel(first);
  operations.EndChannel(first);
  operations.EndChannel(0);
  operations.EndChannel(77);
  EXPECT_EQ(OnlyCommunicator(*activity_).ended, 1);
  operations.Begin("Broadcast", 4, /*channels=*/0);  // has no kernel
  EXPECT_EQ(OnlyCommunicator(*activity_).ended, 2);
}

TEST_F(OperationTrackerTest, OldOperationsCountAsDone) {
  nccl_profiler::OperationTracker operations("many");
  for (int i = 0; i < 5000; ++i) operations.Begin("AllReduce", 4, 1);
  EXPECT_EQ(OnlyCommunicator(*activity_).begun, 5000);
  EXPECT_EQ(OnlyCommunicator(*activity_).ended, 5000 - 4096);
}

TEST_F(OperationTrackerTest, SizesOfTypes) {
  EXPECT_EQ(BytesOf("ncclFloat32", 10), 40);
  EXPECT_EQ(BytesOf("ncclBfloat16", 10), 20);
  EXPECT_EQ(BytesOf("ncclFloat8e4m3", 10), 10);
  EXPECT_EQ(BytesOf("somethingNew", 10), 0);
}

}  // namespace
}  // namespace muster
