// Tests of the C ABI on GPU memory: jobs whose ranks run tests/client/c/device_rank.c, on the fake
// CUDA and NCCL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/exit_code.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

const Args kRank = {"tests/client/c/device_rank", "-"};

// The fake ends a rank whose operation is not ordered after the work on the rank's stream.
TEST(CDeviceTest, OperationsOnGpuMemoryFollowTheStream) {
  const Ranks ranks(2, 2, kRank);
  EXPECT_THAT(ranks.exits(), Each(kSuccess)) << ranks.output(0) << ranks.output(1);
}

TEST(CDeviceTest, ALossEndsAnOperationOnTheGpu) {
  const Ranks ranks(2, 2, {kRank[0], kRank[1], "die"});
  EXPECT_EQ(ranks.exit(0), (Exit{false, kExitPeerLost})) << ranks.output(0);
  EXPECT_THAT(ranks.output(0), HasSubstr("rank 1 (node 'node-0', host "));
}

}  // namespace
}  // namespace muster::testing
