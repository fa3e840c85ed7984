// What ranks learn of each other's GPUs before NCCL is called.

#include "client/nccl/peer_info.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/fake_job.h"

namespace muster::internal {
namespace {

using ::muster::testing::FakeJob;
using ::testing::AllOf;
using ::testing::HasSubstr;

NcclPeerInfo InfoWith(const std::string& uuid) {
  NcclPeerInfo info;
  info.set_gpu_name("Some GPU");
  info.set_gpu_uuid(uuid);
  info.set_nccl_version(22809);
  return info;
}

TEST(NcclPeerInfoTest, OneGpuForEachRankIsRight) {
  FakeJob job(2);
  EXPECT_TRUE(CheckNcclPeerInfos(job.world(0), {InfoWith("GPU-1"), InfoWith("GPU-2")}).ok());
}

TEST(NcclPeerInfoTest, TwoRanksOnOneGpuAreBothNamed) {
  FakeJob job(3);
  const absl::Status status =
      CheckNcclPeerInfos(job.world(0), {InfoWith("GPU-1"), InfoWith("GPU-2"), InfoWith("GPU-1")});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("rank 0 (node 'node-0', pid 1000) and rank 2 (node 'node-2', pid 1002)"),
            HasSubstr("GPU-1"), HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(NcclPeerInfoTest, SharingTakesTheConsentOfAll) {
  FakeJob job(2);
  std::vector<NcclPeerInfo> infos = {InfoWith("GPU-1"), InfoWith("GPU-1")};
  infos[0].set_allow_shared_gpu(true);
  EXPECT_FALSE(CheckNcclPeerInfos(job.world(0), infos).ok());
  infos[1].set_allow_shared_gpu(true);
  EXPECT_TRUE(CheckNcclPeerInfos(job.world(0), infos).ok());
}

TEST(NcclPeerInfoTest, DifferentVersionsAreNamed) {
  FakeJob job(2);
  std::vector<NcclPeerInfo> infos = {InfoWith("GPU-1"), InfoWith("GPU-2")};
  infos[1].set_nccl_version(22203);
  const absl::Status status = CheckNcclPeerInfos(job.world(0), infos);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("rank 0 (node 'node-0', pid 1000) has NCCL 2.28.9"),
                    HasSubstr("rank 1 (node 'node-1', pid 1001) has NCCL 2.22.3")));
}

}  // namespace
}  // namespace muster::internal
