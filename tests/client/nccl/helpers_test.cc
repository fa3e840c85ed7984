// Tests of the helpers in real processes, over NCCL.

#include <signal.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/nccl_job.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

class NcclHelpers : public ::testing::TestWithParam<int> {};

TEST_P(NcclHelpers, EachRankUsesItsGpuAndGetsTheValues) {
  NcclJob::Start(GetParam(), {"helpers"})->ExpectAll(kSuccess);
}

INSTANTIATE_TEST_SUITE_P(Ranks, NcclHelpers, ::testing::Values(1, 2, 4));

TEST(NcclHelpersFailure, ARankKilledInTheMiddleIsNamedToTheOthers) {
  auto job = NcclJob::Start(3, {"helpers"}, {}, FaultOf(1, "op-die@2"));
  EXPECT_EQ((*job)[1].Wait(), (Exit{true, SIGKILL}));
  for (int rank : {0, 2}) EXPECT_THAT(job->OutputOf(rank, kRankError), HasSubstr(job->LossOf(1)));
}

// The environment's local rank is enough before the process joins.
TEST(NcclHelpersDevice, TheEnvironmentsLocalRankInfersTheSameDevice) {
  auto job =
      NcclJob::Start(2, {"device"}, {}, {{0, {{"LOCAL_RANK", "0"}}}, {1, {{"LOCAL_RANK", "1"}}}});
  EXPECT_THAT(job->OutputOf(0, kSuccess), HasSubstr("uses cuda:0, inferred cuda:0"));
  EXPECT_THAT(job->OutputOf(1, kSuccess), HasSubstr("uses cuda:1, inferred cuda:1"));
}

TEST(NcclHelpersDevice, ALocalRankWithoutAGpuIsAnError) {
  auto job = NcclJob::Start(3, {"device"}, {{"FAKE_CUDA_DEVICES", "2"}});
  EXPECT_THAT(job->OutputOf(1, kSuccess), HasSubstr("uses cuda:1"));
  EXPECT_THAT(job->OutputOf(2, kRankError), HasSubstr("local rank 2 has no GPU of its own"));
}

// The driver counts on all GPUs. If it does not list the process, the SDK asks CUDA.
TEST(NcclHelpersDevice, TheDriverSaysHowMuchMemoryTheProcessUses) {
  const std::string library = Runfile("tests/nccl/cuda/lib/libnvidia-ml.so.1");
  const std::string folder = library.substr(0, library.rfind('/'));
  auto job = NcclJob::Start(2, {"device"}, {{"LD_LIBRARY_PATH", folder}},
                            {{0, {{"FAKE_NVML_MIB", "37"}}}});
  EXPECT_THAT(job->OutputOf(0, kSuccess), HasSubstr(" and 74 MiB"));
  EXPECT_THAT(job->OutputOf(1, kSuccess), HasSubstr(" and 0 MiB"));
}

TEST(NcclHelpersDevice, TheOnlyVisibleGpuIsTheFirst) {
  auto job = NcclJob::Start(2, {"device"}, {}, {{1, {{"CUDA_VISIBLE_DEVICES", "5"}}}});
  EXPECT_THAT(job->OutputOf(1, kSuccess), HasSubstr("uses cuda:0"));
}

}  // namespace
}  // namespace muster::testing
