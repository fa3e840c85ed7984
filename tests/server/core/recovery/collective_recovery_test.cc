// Collectives that some members have completed at an earlier daemon, and others have not.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

TEST(CollectiveRecoveryTest, AMemberWithTheResultIsAskedForItsContribution) {
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

TEST(CollectiveRecoveryTest, AGatherRetryOfANonRootNeedsNoContributions) {
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

TEST(CollectiveRecoveryTest, ClaimsThatDifferByMoreThanOneNameTheOffenders) {
  for (bool behind_first : {true, false}) {
    Harness h(3);
    std::vector<Process> p = h.Formed(3);
    h.Restart();
    h.Recover(p[0], 5);
    h.Recover(p[behind_first ? 1 : 2], behind_first ? 4 : 6);
    h.Recover(p[behind_first ? 2 : 1], behind_first ? 6 : 4);
    for (Process& process : p) {
      const absl::Status status = h.StatusOf(h.SendAt(process, 5, CollectiveKind::kBarrier));
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("rank 2 says that it has completed op 5 of the world, but rank 1 is at "
                            "op 4"));
    }
  }
}

TEST(CollectiveRecoveryTest, WaitingRanksAreToldOfTheContradiction) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  for (Process& process : p) {
    Claim claim = h.ClaimOf(process, 0);
    claim.groups.clear();
    h.Attach(process, claim);
  }
  const WaiterId at = h.SendAt(p[0], 4, CollectiveKind::kBarrier);
  const WaiterId past = h.SendAt(p[1], 3, kAllGather);
  const WaiterId ahead = h.SendAt(p[2], 5, CollectiveKind::kBarrier);
  for (WaiterId id : {at, past, ahead}) {
    EXPECT_EQ(h.StatusOf(id).code(), absl::StatusCode::kFailedPrecondition) << h.StatusOf(id);
    EXPECT_THAT(std::string(h.StatusOf(id).message()), HasSubstr("rank 1 is at op 3"));
  }
  EXPECT_FALSE(h.StatusOf(h.SendAt(p[1], 3, CollectiveKind::kBarrier)).ok());
}

// After a contradiction, claims prove nothing about any rank.
TEST(CollectiveRecoveryTest, AfterAContradictionARankThatIsFarBehindNamesNobody) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  h.Recover(p[0], 5);
  h.CloseStream(p[0]);
  h.Recover(p[0], 6);
  h.Recover(p[1], 6);
  h.Recover(p[2], 4);
  for (Process& process : p) {
    const absl::Status status = h.StatusOf(h.SendAt(process, 6, CollectiveKind::kBarrier));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 0 says that it has completed op 5 of the world, but the "
                          "coordinator has it at op 5"));
  }
}

// Rank 1 has claimed 4. A call at 5 would mean that it has skipped 4 at this daemon.
TEST(CollectiveRecoveryTest, AClaimantCannotSkipAheadByCalling) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 4);
  h.Recover(p[1], 4);
  const WaiterId honest = h.SendAt(p[0], 4, CollectiveKind::kBarrier);
  EXPECT_FALSE(h.StatusOf(h.SendAt(p[1], 5, CollectiveKind::kBarrier)).ok());
  EXPECT_TRUE(h.Parked(honest)) << "rank 1 has not arrived at op 4";
  EXPECT_TRUE(h.StatusOf(h.SendAt(p[1], 4, CollectiveKind::kBarrier)).ok());
  EXPECT_TRUE(h.StatusOf(honest).ok());
}

TEST(CollectiveRecoveryTest, AnOverflowingSequenceNumberIsNoClaim) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  h.Restart();
  const WaiterId refused = h.Recover(p[0], (uint64_t{1} << 62) + 1);
  ASSERT_TRUE(h.EndOf(refused).has_value());
  EXPECT_THAT(std::string(h.EndOf(refused)->message()), HasSubstr("next sequence number"));
  EXPECT_FALSE(h.EndOf(h.Recover(p[0], (uint64_t{1} << 62) - 1)).has_value());
  const WaiterId last = h.SendAt(p[0], (uint64_t{1} << 62) - 1, CollectiveKind::kBarrier);
  EXPECT_TRUE(h.StatusOf(last).ok()) << h.StatusOf(last);
  h.Restart();
  EXPECT_FALSE(h.EndOf(h.Recover(p[0], uint64_t{1} << 62)).has_value()) << "it was accepted before";
}

}  // namespace
}  // namespace muster::core
