// Tests of what ranks learn of each other's GPUs before NCCL is called.

#include "client/nccl/bootstrap/nccl_peer_info.h"

#include "absl/strings/str_cat.h"
#include "client/nccl/bootstrap/settings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/fakes/fake_job.h"

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

// Returns the ranks' infos, with this setting of each rank.
std::vector<NcclPeerInfo> InfosWith(const std::string& name,
                                    const std::vector<std::string>& values) {
  std::vector<NcclPeerInfo> infos;
  for (const std::string& value : values) {
    infos.push_back(InfoWith(absl::StrCat("GPU-", infos.size())));
    AddSettings({{name, {value, ""}}}, ncclConfig_t(NCCL_CONFIG_INITIALIZER), &infos.back());
  }
  return infos;
}

TEST(NcclPeerInfoTest, DifferentSettingsAreNamed) {
  FakeJob job(3);
  const absl::Status status =
      CheckNcclPeerInfos(job.world(0), InfosWith("NCCL_ALGO", {"Ring", "Ring", "Tree"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("rank 0 (node 'node-0', pid 1000) has NCCL_ALGO=Ring"),
                    HasSubstr("rank 2 (node 'node-2', pid 1002) has NCCL_ALGO=Tree")));
}

TEST(NcclPeerInfoTest, ASettingThatOneRankLacksIsNamed) {
  FakeJob job(2);
  const absl::Status status =
      CheckNcclPeerInfos(job.world(0), InfosWith("NCCL_BUFFSIZE", {"", "1048576"}));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("rank 0 (node 'node-0', pid 1000) has no NCCL_BUFFSIZE"),
                    HasSubstr("NCCL_BUFFSIZE=1048576")));
}

TEST(NcclPeerInfoTest, ConfigurationsAreCompared) {
  FakeJob job(2);
  std::vector<NcclPeerInfo> infos = {InfoWith("GPU-1"), InfoWith("GPU-2")};
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.maxCTAs = 4;
  AddSettings({}, config, &infos[1]);
  EXPECT_THAT(std::string(CheckNcclPeerInfos(job.world(0), infos).message()),
              HasSubstr("has NcclOptions::config.maxCTAs=4"));
}

TEST(NcclPeerInfoTest, SettingsThatMayDifferAreNotCompared) {
  FakeJob job(2);
  for (const char* name : {"NCCL_SOCKET_IFNAME", "NCCL_DEBUG", "NCCL_P2P_DISABLE"}) {
    EXPECT_TRUE(CheckNcclPeerInfos(job.world(0), InfosWith(name, {"1", "2"})).ok()) << name;
  }
  EXPECT_TRUE(CheckNcclPeerInfos(job.world(0), InfosWith("NCCL_CUMEM_ENABLE", {"1", ""})).ok());
}

}  // namespace
}  // namespace muster::internal
