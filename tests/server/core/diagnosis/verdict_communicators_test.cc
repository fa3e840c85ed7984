// Verdicts from communicators: how many operations each rank has begun and ended shows who holds up
// whom.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/diagnosis/verdict.h"
#include "tests/server/core/verdict_job.h"

namespace muster::core {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

RankObservation Counts(uint32_t rank, const std::string& operation, uint64_t begun,
                       uint64_t ended) {
  RankObservation seen = Observation(rank, ProcessCondition::kComputing);
  seen.communicators.push_back(
      {"communicator 1 of the world", operation, begun, ended, absl::Seconds(40)});
  return seen;
}

TEST(CommunicatorVerdictTest, TheRankThatStoppedFirstInACommunicatorIsNamedWithTheOperation) {
  RankObservation behind = Counts(2, "AllReduce(float32 x 8)", 6648, 6648);
  behind.condition = ProcessCondition::kSleeping;
  behind.call = "read";
  const Verdict verdict = Judge(Running(3),
                                {Counts(0, "AllReduce(float32 x 9)", 6649, 6648),
                                 Counts(1, "AllReduce(float32 x 9)", 6649, 6648), behind},
                                kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kFellBehind);
  EXPECT_EQ(verdict.text,
            "rank 2 (node 'n1', host h, pid 102) stopped first, at op 6,649 of communicator 1 of "
            "the world, "
            "which it has not begun: it is in read(); 2 others are in AllReduce(float32 x 9), op "
            "6,649 of communicator 1 of the world, for 40s");
}

// The rank that skipped the operation waits in a barrier. The others cannot come to the barrier.
TEST(CommunicatorVerdictTest, ARankThatSkippedAnOperationIsFoundThoughItWaits) {
  JobStatus job = Running(3);
  job.pending.push_back(Pending({2}, {0, 1}));
  const Verdict verdict = Judge(job,
                                {Counts(0, "AllReduce()", 12, 11), Counts(1, "AllReduce()", 12, 11),
                                 Counts(2, "AllReduce()", 11, 11)},
                                kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kFellBehind);
  EXPECT_THAT(verdict.text, StartsWith("rank 2 "));
}

TEST(CommunicatorVerdictTest, RanksThatCallDifferentOperationsOfACommunicatorAreNamedWithThem) {
  const Verdict verdict = Judge(Running(3),
                                {Counts(0, "AllReduce(8)", 5, 4), Counts(1, "AllReduce(9)", 5, 4),
                                 Counts(2, "AllReduce(8)", 5, 4)},
                                kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kDisagreement);
  EXPECT_EQ(verdict.text,
            "ranks disagree on op 5 of communicator 1 of the world: ranks 0,2 are in AllReduce(8), "
            "rank 1 is in "
            "AllReduce(9)");
}

// As in an elastic job that no process has joined yet.
TEST(CommunicatorVerdictTest, ProcessesWithoutARankAreCounted) {
  JobStatus job;
  std::vector<RankObservation> seen = {Counts(0, "AllReduce(8)", 5, 4),
                                       Counts(1, "AllReduce(9)", 5, 4),
                                       Counts(2, "AllReduce(8)", 5, 4)};
  for (RankObservation& one : seen) one.rank.reset();
  EXPECT_EQ(Judge(job, seen, kBothAnswer).text,
            "ranks disagree on op 5 of communicator 1 of the world: 2 processes are in "
            "AllReduce(8), 1 process is in AllReduce(9)");
}

TEST(CommunicatorVerdictTest, IfAllAreInOneOperationOnlyAStoppedRankIsBlamed) {
  std::vector<RankObservation> seen = {Counts(0, "AllReduce()", 5, 4),
                                       Counts(1, "AllReduce()", 5, 4)};
  EXPECT_EQ(Judge(Running(2), seen, kBothAnswer).kind, VerdictKind::kAllInOneCall);
  seen[1].condition = ProcessCondition::kStopped;
  const Verdict verdict = Judge(Running(2), seen, kBothAnswer);
  EXPECT_EQ(verdict.kind, VerdictKind::kStopped);
  EXPECT_THAT(verdict.text, StartsWith("rank 1 "));
}

// A data plane lets the other ranks go on as soon as they have all they need from a rank. Then that
// rank stops.
TEST(CommunicatorVerdictTest,
     ARankThatIsStoppedInAnOperationWhichTheOthersHaveEndedIsNamedWithBoth) {
  std::vector<RankObservation> seen = {
      Counts(0, "AllReduce()", 5, 5), Counts(1, "AllReduce()", 5, 5),
      Counts(2, "AllReduce()", 5, 5), Counts(3, "AllReduce()", 5, 4)};
  seen[3].condition = ProcessCondition::kStopped;
  const Verdict waiting = Judge(AllButRank3(), seen, kBothAnswer);
  EXPECT_EQ(waiting.kind, VerdictKind::kStopped);
  EXPECT_EQ(waiting.text,
            absl::StrCat("rank 3 (node 'n1', host h, pid 103) has not come to Barrier('step 812') "
                         "op 812 of the world: it is stopped; 'kill -CONT 103' continues it",
                         kLast,
                         ", in AllReduce(), op 5 of communicator 1 of the world, which 3 others "
                         "have ended; 3 others wait for 5m"));

  seen[3].condition = ProcessCondition::kSleeping;
  seen[3].call = "futex";
  const Verdict elsewhere = Judge(Running(4), seen, kBothAnswer);
  EXPECT_EQ(elsewhere.kind, VerdictKind::kInACall);
  EXPECT_EQ(elsewhere.text,
            "rank 3 (node 'n1', host h, pid 103): it is in futex(); 1 of 4 ranks is in "
            "AllReduce(), op 5 of communicator 1 of the world, for 40s, which the others have "
            "ended");
}

RankObservation Inside(RankObservation seen, const std::string& name, uint64_t begun,
                       absl::Duration since, bool ended = false) {
  seen.communicators.push_back({name, "AllReduce()", begun, ended ? begun : begun - 1, since});
  return seen;
}

// As with tensor and data parallelism: ranks 0 and 1 are one group, 1 and 2 the other.
TEST(CommunicatorVerdictTest, ARankThatIsBehindInOneCommunicatorAndWaitsInAnotherIsNotBlamed) {
  const std::string a = "communicator 1 of group 'a'";
  const std::string b = "communicator 1 of group 'b'";
  const RankObservation rank0 =
      Inside(Observation(0, ProcessCondition::kComputing), a, 8, absl::Seconds(41));
  const RankObservation rank1 = Inside(
      Inside(Observation(1, ProcessCondition::kComputing), a, 7, absl::Seconds(50), /*ended=*/true),
      b, 3, absl::Seconds(40));
  const RankObservation rank2 =
      Inside(Observation(2, ProcessCondition::kSleeping, "read", "/data/x"), b, 2,
             absl::Seconds(60), true);
  const Verdict verdict = Judge(Running(3), {rank0, rank1, rank2}, kBothAnswer);
  EXPECT_EQ(NameOf(verdict.kind), "fell-behind");
  EXPECT_THAT(verdict.text,
              StartsWith("rank 2 (node 'n1', host h, pid 102) stopped first, at op 3 of "
                         "communicator 1 of group 'b', which it has not begun: it is in read()"));
}

TEST(CommunicatorVerdictTest,
     RanksThatCallTwoCommunicatorsInTurnEachInAnotherOrderAreNamedWithBoth) {
  const auto rank = [](uint32_t number, const std::string& in, const std::string& not_in) {
    return Inside(
        Inside(Observation(number, ProcessCondition::kComputing), in, 8, absl::Seconds(40)), not_in,
        7, absl::Seconds(40), /*ended=*/true);
  };
  const std::string a = "communicator 1 of the world";
  const std::string b = "communicator 2 of the world";
  const Verdict verdict = Judge(Running(2), {rank(0, a, b), rank(1, b, a)}, kBothAnswer);
  EXPECT_EQ(NameOf(verdict.kind), "different-calls");
  EXPECT_EQ(verdict.text,
            "ranks wait for each other in different communicators: rank 0 is in AllReduce(), op 8 "
            "of communicator 1 of the world, and rank 1 is in AllReduce(), op 8 of communicator 2 "
            "of the world; none of these calls can complete");
}

TEST(CommunicatorVerdictTest, OfSeveralRanksThatAreBehindTheLikeliestCulpritIsNamed) {
  for (const uint32_t stopped : {1, 2}) {
    std::vector<RankObservation> seen = {Counts(0, "AllReduce()", 12, 11),
                                         Counts(1, "AllReduce()", 11, 11),
                                         Counts(2, "AllReduce()", 11, 11)};
    seen[stopped].condition = ProcessCondition::kStopped;
    EXPECT_THAT(Judge(Running(3), seen, kBothAnswer).text,
                StartsWith(absl::StrCat("rank ", stopped, " ")));
  }
}

TEST(CommunicatorVerdictTest, ARankThatIsBehindIsNamedWithTheCallThatItWaitsIn) {
  JobStatus job = Running(3);
  job.pending.push_back(Pending({2}, {0, 1}));
  job.members[2].waiting_in = "Barrier('step 812') op 812 of the world";
  job.members[2].waiting_for = absl::Seconds(40);
  const Verdict verdict = Judge(job,
                                {Counts(0, "AllReduce()", 12, 11), Counts(1, "AllReduce()", 12, 11),
                                 Counts(2, "AllReduce()", 11, 11)},
                                kBothAnswer);
  EXPECT_THAT(verdict.text,
              HasSubstr(", waiting in Barrier('step 812') op 812 of the world for 40s; 2 others"));
}

// Rank 1 has been in an old operation for two hours, which the others have ended. The verdict must
// be about the newer operation, in which rank 3 is stopped.
TEST(CommunicatorVerdictTest, ARankIsNamedWithTheOperationThatOthersHaveEnded) {
  std::vector<RankObservation> seen;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const bool in_old = rank == 1;
    const bool in_new = rank == 3;
    seen.push_back(Inside(Inside(Observation(rank, ProcessCondition::kSleeping, "futex"), "old", 90,
                                 absl::Hours(2), !in_old),
                          "new", 5, absl::Minutes(5), !in_new));
  }
  seen[3].condition = ProcessCondition::kStopped;
  const Verdict verdict = Judge(AllButRank3(), seen, kBothAnswer);
  EXPECT_EQ(NameOf(verdict.kind), "stopped");
  EXPECT_THAT(verdict.text, HasSubstr("in AllReduce(), op 5 of new, which 3 others have ended"));
}

TEST(CommunicatorVerdictTest, CommunicatorsAreJudgedBeforeTheFirstJoin) {
  JobStatus job;
  job.world_size = 2;
  job.reason = "0 of 2 members have joined";
  const std::vector<RankObservation> seen = {Counts(0, "AllReduce()", 12, 11),
                                             Counts(1, "AllReduce()", 11, 11)};
  const Verdict verdict = Judge(job, seen, kBothAnswer);
  EXPECT_EQ(NameOf(verdict.kind), "fell-behind");
  EXPECT_THAT(verdict.text, StartsWith("rank 1 (node 'n0', pid 101) stopped first, at op 12 "));
}

}  // namespace
}  // namespace muster::core
