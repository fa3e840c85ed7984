// Elastic jobs: the loss of a rank ends an epoch, not the job.

#include <signal.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fault/scenario.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Pings that find a stopped process soon, and graces that end soon.
const Words kImpatient = {"--keepalive-time=1s", "--keepalive-timeout=3s", "--member-grace=200ms",
                          "--recovery-grace=6s"};

Words With(Words flags, const Words& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// The survivors of three ranks, of which the last is lost in the first epoch.
const Words kSurvive = {"first:2:loss", "first:try:barrier", "first:rejoin", "allgather", "leave"};

class ElasticTest : public ::testing::Test {
 protected:
  void Start(const Words& daemon_flags, const Words& steps) {
    daemon_ = TestDaemon::Start(With(kImpatient, daemon_flags));
    ASSERT_NE(daemon_, nullptr);
    status_ = std::make_unique<StatusReader>(daemon_->address());
    for (int i = 0; i < 3; ++i) ranks_.push_back(StartOne(steps));
  }

  std::unique_ptr<Process> StartOne(const Words& steps) {
    return StartRank(daemon_->address(), -1, steps);
  }

  // Which of the processes has that rank in the first epoch.
  Process& RankOf(int rank) {
    const std::string mark = absl::StrCat("rank ", rank, " pid ");
    while (true) {
      for (auto& process : ranks_) {
        if (absl::StrContains(process->Output(), mark)) return *process;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
  }

  // Kills it and forgets it.
  void Lose(Process& process) {
    process.Signal(SIGKILL);
    process.Wait();
    for (auto rank = ranks_.begin(); rank != ranks_.end(); ++rank) {
      if (rank->get() == &process) {
        ranks_.erase(rank);
        return;
      }
    }
  }

  std::unique_ptr<TestDaemon> daemon_;
  std::unique_ptr<StatusReader> status_;
  std::vector<std::unique_ptr<Process>> ranks_;
};

// The first epoch is to have all three, however slowly they start.
TEST_F(ElasticTest, SurvivorsGoOnWithoutTheLostRank) {
  Start({"--world-size=3", "--min-world-size=2", "--settle=5s"}, kSurvive);
  ASSERT_TRUE(status_->WaitForParked(2, "Barrier"));
  Lose(RankOf(2));
  ExpectEnds(ranks_, kSuccess);
  for (int rank : {0, 1}) {
    EXPECT_THAT(RankOf(rank).Output(),
                HasSubstr(absl::StrCat("rank ", rank, " of 2 was rank ", rank, " before")));
  }
}

TEST_F(ElasticTest, ANewcomerTakesTheLostRanksPlace) {
  Start({"--world-size=3", "--min-world-size=2", "--settle=1h"}, kSurvive);
  ASSERT_TRUE(status_->WaitForParked(2, "Barrier"));
  Lose(RankOf(2));
  ranks_.push_back(StartOne(kSurvive));
  ExpectEnds(ranks_, kSuccess);
  for (int rank : {0, 1}) {
    EXPECT_THAT(RankOf(rank).Output(),
                HasSubstr(absl::StrCat("rank ", rank, " of 3 was rank ", rank, " before")));
  }
  EXPECT_THAT(ranks_.back()->Output(), HasSubstr("rank 2 is done"));
}

TEST_F(ElasticTest, SurvivorsBelowTheMinimumEndWithAClearError) {
  Start({"--world-size=3", "--min-world-size=3", "--settle=100ms", "--rejoin-timeout=1s"},
        kSurvive);
  ASSERT_TRUE(status_->WaitForParked(2, "Barrier"));
  Lose(RankOf(2));
  ExpectEnds(ranks_, kRankError);
  for (auto& rank : ranks_) EXPECT_THAT(rank->Output(), HasSubstr("error: FAILED_PRECONDITION"));
}

TEST_F(ElasticTest, RunningRanksTakeInANewcomerWhenTheyChooseTo) {
  const Words steps = {"first:newcomers", "first:rejoin", "allgather", "leave"};
  Start({"--min-world-size=3", "--max-world-size=4", "--settle=500ms"}, steps);
  RankOf(0);
  ranks_.push_back(StartOne(steps));
  ExpectEnds(ranks_, kSuccess);
  EXPECT_THAT(RankOf(0).Output(), HasSubstr("rank 0 of 4 was rank 0 before"));
  EXPECT_THAT(ranks_.back()->Output(), HasSubstr("rank 3 is done"));
}

TEST(ElasticLauncherTest, StartsTheLostRankAgainIntoTheNextEpoch) {
  auto run = Launch(3, kSurvive, {"--max-restarts=1", "--settle=1h"});
  ASSERT_TRUE(AwaitBegin(*run, {0, 1}, "barrier"));
  ASSERT_TRUE(AwaitBegin(*run, {2}, "loss"));
  kill(PidOf(2, *run), SIGKILL);
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
  EXPECT_EQ(CountOf(run->Output(), "is done"), 3);
  EXPECT_THAT(run->Output(), HasSubstr("(restart 1 of at most 1)"));
}

// ---- Once-per-job work ----

uint64_t TokenOf(const Process& process) {
  const std::string mark = "holds the lease with token ";
  const std::string output = process.Output();
  const size_t at = output.find(mark);
  return at == std::string::npos ? 0 : std::stoull(output.substr(at + mark.size()));
}

class LostHolderTest : public ElasticTest {
 protected:
  // Rank 2 holds the lease that the others wait for; if it is lost, one of them must get it.
  void StartWithHolder() {
    Start({"--world-size=3", "--min-world-size=2", "--settle=5s"},
          {"first:2:hold", "barrier", "first:2:" + gate_.wait(), "first:2:complete",
           "first:2:exit=0", "try:lease", "rejoin", "lease", "allgather", "leave"});
    ASSERT_TRUE(status_->WaitForParked(2, "lease"));
  }

  // The next holder's token is higher, and who does not hold gets its result.
  void ExpectTakenOver(uint64_t lost_token) {
    Process& first = RankOf(0);
    Process& second = RankOf(1);
    EXPECT_EQ(first.Wait(), kSuccess) << first.Output();
    EXPECT_EQ(second.Wait(), kSuccess) << second.Output();
    const bool first_holds = TokenOf(first) > 0;
    EXPECT_GT(lost_token, 0u);
    EXPECT_GT(TokenOf(first_holds ? first : second), lost_token);
    EXPECT_THAT((first_holds ? second : first).Output(), HasSubstr("finds the work done by rank"));
  }

  const Gate gate_;
};

TEST_F(LostHolderTest, TheNextWaiterTakesOverWithAHigherToken) {
  ASSERT_NO_FATAL_FAILURE(StartWithHolder());
  const uint64_t token = TokenOf(RankOf(2));
  Lose(RankOf(2));
  ExpectTakenOver(token);
}

TEST_F(LostHolderTest, TheNextWaiterTakesOverWithAHigherTokenAlsoWhenTheDaemonDiesToo) {
  ASSERT_NO_FATAL_FAILURE(StartWithHolder());
  const uint64_t token = TokenOf(RankOf(2));
  daemon_->Kill();
  Lose(RankOf(2));
  daemon_->StartAgain();
  ExpectTakenOver(token);
}

TEST_F(LostHolderTest, ItsCompletionIsRefusedIfItWasOnlyThoughtDead) {
  ASSERT_NO_FATAL_FAILURE(StartWithHolder());
  Process& holder = RankOf(2);
  const uint64_t token = TokenOf(holder);
  holder.Signal(SIGSTOP);
  ExpectTakenOver(token);
  gate_.Open();
  holder.Signal(SIGCONT);
  EXPECT_EQ(holder.Wait(), kRankError) << holder.Output();
  EXPECT_THAT(holder.Output(),
              AllOf(HasSubstr("error: ABORTED"),
                    AnyOf(HasSubstr("was lost"), HasSubstr("was formed without this process"))));
}

}  // namespace
}  // namespace muster::testing
