// What ranks learn of each other's GPUs before NCCL is called.

#include "client/nccl/card.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/fake_job.h"

namespace muster::internal {
namespace {

using ::muster::testing::FakeJob;
using ::testing::AllOf;
using ::testing::HasSubstr;

NcclCard Card(const std::string& uuid) {
  NcclCard card;
  card.device = Device{0, "Some GPU", uuid};
  card.nccl_version = 22809;
  return card;
}

TEST(NcclCardTest, SurvivesTheJourney) {
  NcclCard card = Card("GPU-1");
  card.device.index = 3;
  card.allow_shared_gpu = true;
  const absl::StatusOr<NcclCard> decoded = DecodeNcclCard(EncodeNcclCard(card));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->device.Describe(), "GPU 3 (Some GPU, GPU-1)");
  EXPECT_EQ(decoded->nccl_version, 22809);
  EXPECT_TRUE(decoded->allow_shared_gpu);
}

TEST(NcclCardTest, ATruncatedOneIsRefused) {
  const std::string bytes = EncodeNcclCard(Card("GPU-1"));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeNcclCard(bytes.substr(0, length)).ok()) << length;
  }
}

TEST(NcclCardTest, OneGpuForEachRankIsRight) {
  FakeJob job(2);
  EXPECT_TRUE(CheckNcclCards(job.world(0), {Card("GPU-1"), Card("GPU-2")}).ok());
}

TEST(NcclCardTest, TwoRanksOnOneGpuAreBothNamed) {
  FakeJob job(3);
  const absl::Status status =
      CheckNcclCards(job.world(0), {Card("GPU-1"), Card("GPU-2"), Card("GPU-1")});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("rank 0 (node node-0, pid 1000) and rank 2 (node node-2, pid 1002)"),
                    HasSubstr("GPU-1"), HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(NcclCardTest, SharingTakesTheConsentOfAll) {
  FakeJob job(2);
  std::vector<NcclCard> cards = {Card("GPU-1"), Card("GPU-1")};
  cards[0].allow_shared_gpu = true;
  EXPECT_FALSE(CheckNcclCards(job.world(0), cards).ok());
  cards[1].allow_shared_gpu = true;
  EXPECT_TRUE(CheckNcclCards(job.world(0), cards).ok());
}

TEST(NcclCardTest, DifferentVersionsAreNamed) {
  FakeJob job(2);
  std::vector<NcclCard> cards = {Card("GPU-1"), Card("GPU-2")};
  cards[1].nccl_version = 22203;
  const absl::Status status = CheckNcclCards(job.world(0), cards);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("rank 0 (node node-0, pid 1000) has NCCL 2.28.9"),
                    HasSubstr("rank 1 (node node-1, pid 1001) has NCCL 2.22.3")));
}

}  // namespace
}  // namespace muster::internal
