// Collectives that some members have completed at an earlier daemon and others have not.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kAllGather = CollectiveKind::kAllGather;

TEST(CollectiveRecoveryTest, ACompletedBarrierIsProvenByOneClaim) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 5);
  h.Recover(p[1], 4);
  EXPECT_TRUE(h.StatusOf(h.SendAt(p[1], 4, CollectiveKind::kBarrier)).ok());
}

TEST(CollectiveRecoveryTest, WhoHasTheResultIsAskedForItsContribution) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  h.Recover(p[0], 5);
  h.Recover(p[1], 5);
  h.Recover(p[2], 4);
  EXPECT_THAT(h.Events<NeedContribution>(p[0].stream), IsEmpty());
  const WaiterId late = h.SendAt(p[2], 4, kAllGather, "c");
  ASSERT_THAT(h.Events<NeedContribution>(p[0].stream), SizeIs(1));
  ASSERT_THAT(h.Events<NeedContribution>(p[1].stream), SizeIs(1));
  EXPECT_EQ(h.Events<NeedContribution>(p[0].stream)[0].sequence, 4u);
  const WaiterId next = h.SendAt(p[0], 5, CollectiveKind::kBarrier);
  const WaiterId a = h.SendAt(p[0], 4, kAllGather, "a");
  EXPECT_TRUE(h.StatusOf(a).ok()) << "it waits for nothing";
  EXPECT_TRUE(h.Parked(late));
  h.SendAt(p[1], 4, kAllGather, "b");
  EXPECT_THAT(h.PayloadsOf(late), ElementsAre("a", "b", "c"));
  EXPECT_TRUE(h.Parked(next));
}

TEST(CollectiveRecoveryTest, OnlyTheRootIsAskedForABroadcast) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  h.Recover(p[0], 5);
  h.Recover(p[1], 5);
  h.Recover(p[2], 4);
  const WaiterId late = h.SendAt(p[2], 4, CollectiveKind::kBroadcast, "", /*root=*/1);
  EXPECT_THAT(h.Events<NeedContribution>(p[0].stream), IsEmpty());
  ASSERT_THAT(h.Events<NeedContribution>(p[1].stream), SizeIs(1));
  h.SendAt(p[1], 4, CollectiveKind::kBroadcast, "weights", /*root=*/1);
  EXPECT_THAT(h.PayloadsOf(late), ElementsAre("weights"));
}

TEST(CollectiveRecoveryTest, NobodyIsAskedForAGatherByThoseWhoGetNothing) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 5);
  h.Recover(p[1], 4);
  EXPECT_TRUE(h.StatusOf(h.SendAt(p[1], 4, CollectiveKind::kGather, "b")).ok());
  EXPECT_THAT(h.Events<NeedContribution>(p[0].stream), IsEmpty());
}

TEST(CollectiveRecoveryTest, AContributorThatAttachesAgainIsAskedAgain) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 5);
  h.Recover(p[1], 4);
  const WaiterId late = h.SendAt(p[1], 4, kAllGather, "b");
  h.CloseStream(p[0]);
  h.Recover(p[0], 5);
  EXPECT_THAT(h.Events<NeedContribution>(p[0].stream), SizeIs(1));
  h.SendAt(p[0], 4, kAllGather, "a");
  EXPECT_THAT(h.PayloadsOf(late), ElementsAre("a", "b"));
}

TEST(CollectiveRecoveryTest, ALeavingMemberStillContributes) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Claim leaving = h.ClaimOf(p[0], 5);
  leaving.leaving = true;
  h.Attach(p[0], leaving);
  const WaiterId leave = h.Leave(p[0]);
  h.Recover(p[1], 4);
  EXPECT_TRUE(h.Parked(leave)) << "rank 1 may need it";
  const WaiterId late = h.SendAt(p[1], 4, kAllGather, "b");
  EXPECT_TRUE(h.StatusOf(h.SendAt(p[0], 4, kAllGather, "a")).ok());
  EXPECT_THAT(h.PayloadsOf(late), ElementsAre("a", "b"));
  EXPECT_TRUE(h.StatusOf(h.Leave(p[1])).ok());
  EXPECT_TRUE(h.StatusOf(leave).ok());
}

TEST(CollectiveRecoveryTest, AnArrivalThatIsAheadProvesTheCollectiveBeforeIt) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Claim nothing = h.ClaimOf(p[0], 0);
  nothing.groups.clear();
  h.Attach(p[0], nothing);
  h.Attach(p[1]);
  const WaiterId b1 = h.SendAt(p[1], 4, CollectiveKind::kBarrier);
  EXPECT_TRUE(h.Parked(b1));
  h.SendAt(p[0], 5, CollectiveKind::kBarrier);
  EXPECT_TRUE(h.StatusOf(b1).ok());
}

}  // namespace
}  // namespace muster::core
