// The helpers in real processes, over NCCL.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/nccl_job.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

class NcclHelpers : public ::testing::TestWithParam<int> {};

TEST_P(NcclHelpers, EachRankUsesItsGpuAndGetsTheValues) {
  NcclJob::Start(GetParam(), {"helpers"})->ExpectAll(kDone);
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclHelpers, ::testing::Values(1, 2, 4));

// What this process is told of its place is enough before it joins.
TEST(NcclHelpersDevice, TheEnvironmentsLocalRankInfersTheSameDevice) {
  auto job =
      NcclJob::Start(2, {"device"}, {}, {{0, {{"LOCAL_RANK", "0"}}}, {1, {{"LOCAL_RANK", "1"}}}});
  EXPECT_THAT(job->OutputOf(0, kDone), HasSubstr("uses cuda:0, inferred cuda:0"));
  EXPECT_THAT(job->OutputOf(1, kDone), HasSubstr("uses cuda:1, inferred cuda:1"));
}

TEST(NcclHelpersDevice, ALocalRankWithoutAGpuIsAnError) {
  auto job = NcclJob::Start(3, {"device"}, {{"FAKE_CUDA_DEVICES", "2"}});
  EXPECT_THAT(job->OutputOf(1, kDone), HasSubstr("uses cuda:1"));
  EXPECT_THAT(job->OutputOf(2, kError), HasSubstr("local rank 2 has no GPU of its own"));
}

TEST(NcclHelpersDevice, TheOnlyVisibleGpuIsTheFirst) {
  auto job = NcclJob::Start(2, {"device"}, {}, {{1, {{"CUDA_VISIBLE_DEVICES", "5"}}}});
  EXPECT_THAT(job->OutputOf(1, kDone), HasSubstr("uses cuda:0"));
}

}  // namespace
}  // namespace muster::testing
