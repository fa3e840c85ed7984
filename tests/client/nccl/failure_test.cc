// Tests of ranks that die. Every communicator of every survivor must end with the error that names
// them.

#include <signal.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/nccl_job.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Exit kKilled{true, SIGKILL};

// Checks how the survivors of rank 1 have ended.
void ExpectLossOfRank1(NcclJob& job, const Exit& survivors) {
  job.OutputOf(1, kKilled);
  for (int rank : {0, 2}) {
    EXPECT_THAT(
        job.OutputOf(rank, survivors),
        AllOf(HasSubstr(job.LossOf(1)), HasSubstr(absl::StrCat("pid ", job[1].pid(), ")"))));
  }
}

TEST(NcclFailure, AKilledRankEndsAllCommunicatorsOfTheOthers) {
  auto job = NcclJob::Start(3, {"reduce-forever"});
  for (int rank = 0; rank < 3; ++rank) {
    (*job)[rank].WaitForOutput(absl::StrCat("rank ", rank, " is reducing"));
  }
  (*job)[1].Signal(SIGKILL);
  ExpectLossOfRank1(*job, kSuccess);
}

TEST(NcclFailure, ARankThatDiesInTheMiddleOfAnOperationEndsTheOthers) {
  auto job = NcclJob::Start(3, {"reduce-forever"}, {}, FaultOf(1, "op-die@8"));
  ExpectLossOfRank1(*job, kSuccess);
}

// NCCL sees the broken connection to another node before the job knows of the loss. The error must
// still name the rank.
TEST(NcclFailure, TheJobExplainsABrokenConnection) {
  auto variables = FaultOf(1, "op-die@8");
  variables[1]["NCCL_HOSTID"] = "another node";
  auto job = NcclJob::Start(3, {"reduce-forever"}, {}, variables);
  ExpectLossOfRank1(*job, kSuccess);
}

// If GPUs write to each other's memory, a death shows as a CUDA error.
TEST(NcclFailure, TheJobExplainsAnErrorOfTheGpu) {
  auto job =
      NcclJob::Start(3, {"reduce-once", "timeout=20"},
                     {{"FAKE_CUDA_ERRORS", "cudaStreamQuery=700@1"}}, FaultOf(1, "op-die@1"));
  job->OutputOf(1, kKilled);
  for (int rank : {0, 2}) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                HasSubstr(absl::StrCat("ended: ", job->LossOf(1))));
  }
}

TEST(NcclFailure, ARankThatDiesInItsInitEndsTheOthers) {
  auto job = NcclJob::Start(3, {"create"}, {}, FaultOf(1, "init-die"));
  ExpectLossOfRank1(*job, kRankError);
}

TEST(NcclFailure, ARankThatDiesBeforeItsInitEndsTheOthers) {
  auto job = NcclJob::Start(3, {"create", "absent=1"});
  (*job)[1].WaitForOutput("rank 1 creates");
  (*job)[1].Signal(SIGKILL);
  ExpectLossOfRank1(*job, kRankError);
}

TEST(NcclFailure, ARankThatDiesWhileOthersSplitEndsThem) {
  auto job = NcclJob::Start(3, {"one-split", "absent=1"});
  (*job)[0].WaitForOutput("creates the split");
  (*job)[1].WaitForOutput("stays away");
  (*job)[1].Signal(SIGKILL);
  ExpectLossOfRank1(*job, kRankError);
  // NCCL's partly made children are freed too.
  for (int rank : {0, 2}) {
    EXPECT_THAT((*job)[rank].Output(), HasSubstr("no communicator is left"));
  }
}

// Stopping takes a while, and nothing may be freed before it has ended.
TEST(NcclFailure, SlowFreeingIsWaitedFor) {
  auto job = NcclJob::Start(3, {"reduce-forever"}, {{"FAKE_NCCL_FAULTS", "abort-slow=300"}},
                            FaultOf(1, "op-die@8"));
  ExpectLossOfRank1(*job, kSuccess);
}

// If NCCL cannot revoke, all communicators are aborted in one group.
TEST(NcclFailure, WithoutRevokeAllAreAborted) {
  auto job = NcclJob::Start(3, {"reduce-forever"}, {{"FAKE_NCCL_FAULTS", "revoke-error"}},
                            FaultOf(1, "op-die@8"));
  ExpectLossOfRank1(*job, kSuccess);
}

}  // namespace
}  // namespace muster::testing
