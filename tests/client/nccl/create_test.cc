// Tests which GPU and which backend a rank gets, and what is rejected before NCCL is called.

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/nccl_job.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

using ByRank = std::map<int, Variables>;

void ExpectDevice(NcclJob& job, int rank, int device) {
  EXPECT_THAT(job.OutputOf(rank, kSuccess), HasSubstr(absl::StrCat("created on device ", device)));
}

// ---- Devices ----

TEST(NcclDevice, TheLocalRankChooses) {
  auto job = NcclJob::Start(2, {"create"});
  for (int rank : {0, 1}) ExpectDevice(*job, rank, rank);
}

TEST(NcclDevice, TheOnlyVisibleGpuIsChosen) {
  auto job = NcclJob::Start(
      2, {"create"}, {},
      ByRank{{0, {{"CUDA_VISIBLE_DEVICES", "5"}}}, {1, {{"CUDA_VISIBLE_DEVICES", "3"}}}});
  for (int rank : {0, 1}) ExpectDevice(*job, rank, 0);
}

TEST(NcclDevice, TheProgramMayChoose) {
  auto job = NcclJob::Start(2, {"create", "device=2"}, {},
                            ByRank{{1, {{"CUDA_VISIBLE_DEVICES", "7,6,5,4"}}}});
  for (int rank : {0, 1}) ExpectDevice(*job, rank, 2);
}

TEST(NcclDevice, AMissingDeviceIsNamedOnAllRanks) {
  auto job =
      NcclJob::Start(2, {"create", "device=3"}, {}, ByRank{{1, {{"CUDA_VISIBLE_DEVICES", "0,1"}}}});
  EXPECT_THAT(job->OutputOf(1, kRankError),
              AllOf(HasSubstr("error: INVALID_ARGUMENT: NcclOptions::device is 3"),
                    HasSubstr("sees 2 GPUs"), HasSubstr("CUDA_VISIBLE_DEVICES is '0,1'")));
  EXPECT_THAT(job->OutputOf(0, kRankError),
              AllOf(HasSubstr(job->NameOf(1)), HasSubstr("NcclOptions::device is 3")));
}

TEST(NcclDevice, MoreRanksThanGpus) {
  auto job = NcclJob::Start(3, {"create"}, {{"FAKE_CUDA_DEVICES", "2"}});
  EXPECT_THAT(job->OutputOf(2, kRankError), HasSubstr("local rank 2 has no GPU of its own"));
  EXPECT_THAT(job->OutputOf(0, kRankError), HasSubstr(job->NameOf(2)));
}

TEST(NcclDevice, TwoRanksOnOneGpuAreRejectedAndNamed) {
  auto job = NcclJob::Start(3, {"create"}, {{"FAKE_CUDA_DEVICES", "1"}},
                            ByRank{{1, {{"FAKE_CUDA_MACHINE", "another"}}}});
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                AllOf(HasSubstr("error: FAILED_PRECONDITION: "), HasSubstr("both use the GPU GPU-"),
                      HasSubstr(job->NameOf(0)), HasSubstr(job->NameOf(2))));
  }
}

TEST(NcclDevice, TwoRanksMayShareAGpuIfAllAllowIt) {
  const ByRank hosts = {{0, {{"NCCL_HOSTID", "a"}}}, {1, {{"NCCL_HOSTID", "b"}}}};
  NcclJob::Start(2, {"create", "shared=1"}, {{"FAKE_CUDA_DEVICES", "1"}}, hosts)
      ->ExpectAll(kSuccess);
  NcclJob::Start(2, {"create"}, {{"FAKE_CUDA_DEVICES", "1"}, {"MUSTER_ALLOW_SHARED_GPU", "1"}},
                 hosts)
      ->ExpectAll(kSuccess);
}

TEST(NcclDevice, NcclsErrorForASharedGpuIsReported) {
  Variables env = kNcclLeaksHere;
  env["FAKE_CUDA_DEVICES"] = "1";
  auto job = NcclJob::Start(2, {"create", "shared=1", "timeout=10"}, env);
  for (int rank : {0, 1}) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                AllOf(HasSubstr("error: FAILED_PRECONDITION: "),
                      AnyOf(HasSubstr("Duplicate GPU detected"),
                            HasSubstr("Multiple Ranks are using the same GPU"))));  // from 2.30 on
  }
}

TEST(NcclDevice, WithoutAGpuTheErrorNamesTheReason) {
  auto job = NcclJob::Start(
      2, {"create"}, {},
      ByRank{{0, {{"CUDA_VISIBLE_DEVICES", ""}}}, {1, {{"FAKE_CUDA_DRIVER", "old"}}}});
  EXPECT_THAT(job->OutputOf(0, kRankError),
              AllOf(HasSubstr("error: FAILED_PRECONDITION: no usable GPU: no GPU is visible"),
                    HasSubstr("CUDA_VISIBLE_DEVICES is ''")));
  EXPECT_THAT(job->OutputOf(1, kRankError),
              HasSubstr("no usable GPU: the NVIDIA driver is missing, or older than"));
}

// ---- NCCL ----

TEST(NcclEnvironment, NcclCommIdIsRejected) {
  auto job = NcclJob::Start(2, {"create"}, {}, ByRank{{1, {{"NCCL_COMM_ID", "10.0.0.1:1234"}}}});
  EXPECT_THAT(job->OutputOf(1, kRankError),
              HasSubstr("error: FAILED_PRECONDITION: NCCL_COMM_ID is set ('10.0.0.1:1234')"));
  EXPECT_THAT(job->OutputOf(0, kRankError),
              AllOf(HasSubstr(job->NameOf(1)), HasSubstr("NCCL_COMM_ID is set")));
}

TEST(NcclEnvironment, DifferentVersionsAreNamed) {
  auto job = NcclJob::Start(2, {"create"}, {}, ByRank{{1, {{"FAKE_NCCL_VERSION", "22706"}}}});
  for (int rank : {0, 1}) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                AllOf(HasSubstr(absl::StrCat(job->NameOf(1), " has NCCL 2.27.6")),
                      HasSubstr("all ranks must load the same version")));
  }
}

// ---- The choice of the backend ----

TEST(NcclChoice, NcclIsChosenAndLoggedIfThereIsAGpu) {
  auto job = NcclJob::Start(2, {"host-reduce-once"});
  EXPECT_THAT(job->OutputOf(0, kSuccess),
              AllOf(HasSubstr("communicator of 2 on rank 0: backend nccl on GPU 0 (Fake GPU, GPU-"),
                    HasSubstr("backend nccl\n")));
  job->OutputOf(1, kSuccess);
}

TEST(NcclChoice, GlooIsChosenAndTheReasonLoggedWithoutAGpu) {
  auto job = NcclJob::Start(2, {"host-reduce-once"}, {{"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_THAT(job->OutputOf(0, kSuccess),
              AllOf(HasSubstr("backend gloo"), HasSubstr("no GPU is visible to this process")));
  job->OutputOf(1, kSuccess);
}

TEST(NcclChoice, RequestingNcclWithoutAGpuIsAnError) {
  auto job = NcclJob::Start(2, {"host-reduce-once"}, {{"MUSTER_BACKEND", "nccl"}},
                            ByRank{{0, {{"CUDA_VISIBLE_DEVICES", ""}}}});
  EXPECT_THAT(job->OutputOf(0, kRankError), AllOf(HasSubstr("error: FAILED_PRECONDITION: "),
                                                  HasSubstr("no GPU is visible to this process")));
  EXPECT_THAT(job->OutputOf(1, kRankError), HasSubstr(job->NameOf(0)));
}

TEST(NcclChoice, RanksThatChooseDifferentBackendsAreNamed) {
  auto job =
      NcclJob::Start(2, {"host-reduce-once"}, {}, ByRank{{0, {{"CUDA_VISIBLE_DEVICES", ""}}}});
  for (int rank : {0, 1}) {
    EXPECT_THAT(job->OutputOf(rank, kRankError), AllOf(HasSubstr("error: FAILED_PRECONDITION: "),
                                                       HasSubstr("gloo"), HasSubstr("nccl")));
  }
}

}  // namespace
}  // namespace muster::testing
