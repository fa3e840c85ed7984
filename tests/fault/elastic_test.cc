// Elastic jobs: the loss of a rank ends an epoch, but not the job.

#include <signal.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Flags with short pings and graces, so that a stopped process is lost soon.
const Args kShortTimeouts = {"--keepalive-time=1s", "--keepalive-timeout=3s",
                             "--member-grace=200ms", "--recovery-grace=6s"};

// Longer than ranks that are started together need to join, on a busy machine too.
constexpr char kSettle[] = "--settle=3s";

Args With(Args flags, const Args& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// The steps of the survivors of three ranks. The last rank is lost in the first epoch.
const Args kSurvive = {"first:2:loss", "first:try:barrier", "first:rejoin", "allgather", "leave"};

class ElasticTest : public ::testing::Test {
 protected:
  void Start(const Args& daemon_flags, const Args& steps) {
    daemon_ = TestDaemon::Start(With(kShortTimeouts, daemon_flags));
    ASSERT_NE(daemon_, nullptr);
    status_ = std::make_unique<StatusReader>(daemon_->address());
    for (int i = 0; i < 3; ++i) ranks_.push_back(StartOne(steps));
  }

  std::unique_ptr<Process> StartOne(const Args& steps) {
    return StartRank(daemon_->address(), -1, steps);
  }

  // Returns the process that has the rank in the first epoch.
  Process& RankOf(int rank) {
    const std::string mark = absl::StrCat("rank ", rank, " pid ");
    auto found = ranks_.end();
    const auto has_it = [&](const auto& rank) { return absl::StrContains(rank->Output(), mark); };
    EXPECT_TRUE(WaitUntil([&] {
      found = std::find_if(ranks_.begin(), ranks_.end(), has_it);
      return found != ranks_.end();
    })) << "no process is rank "
        << rank;
    return found == ranks_.end() ? *ranks_.front() : **found;
  }

  // Kills the process and forgets it.
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

TEST_F(ElasticTest, SurvivorsContinueWithoutTheLostRank) {
  Start({"--world-size=3", "--min-world-size=2", kSettle}, kSurvive);
  ASSERT_TRUE(status_->WaitForParked(2, "Barrier"));
  Lose(RankOf(2));
  ExpectExits(ranks_, kSuccess);
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
  ExpectExits(ranks_, kSuccess);
  for (int rank : {0, 1}) {
    EXPECT_THAT(RankOf(rank).Output(),
                HasSubstr(absl::StrCat("rank ", rank, " of 3 was rank ", rank, " before")));
  }
  EXPECT_THAT(ranks_.back()->Output(), HasSubstr("rank 2 is done"));
}

TEST_F(ElasticTest, SurvivorsBelowTheMinimumEndWithAClearError) {
  Start({"--world-size=3", "--min-world-size=3", kSettle, "--rejoin-timeout=1s"}, kSurvive);
  ASSERT_TRUE(status_->WaitForParked(2, "Barrier"));
  Lose(RankOf(2));
  ExpectExits(ranks_, kRankError);
  for (auto& rank : ranks_) {
    EXPECT_THAT(rank->Output(),
                ContainsRegex("error: FAILED_PRECONDITION: .*no new epoch formed within 1s: 2 of 3 "
                              "members have joined, at least 3 must; the last one ended because "
                              "rank 2 "));
  }
}

TEST_F(ElasticTest, RunningRanksAdmitANewcomerOnRejoin) {
  const Args steps = {"first:newcomers", "first:rejoin", "allgather", "leave"};
  Start({"--min-world-size=3", "--max-world-size=4", kSettle}, steps);
  RankOf(0);
  ranks_.push_back(StartOne(steps));
  ExpectExits(ranks_, kSuccess);
  EXPECT_THAT(RankOf(0).Output(), HasSubstr("rank 0 of 4 was rank 0 before"));
  EXPECT_THAT(ranks_.back()->Output(), HasSubstr("rank 3 is done"));
}

TEST(ElasticLauncherTest, RestartsTheLostRankIntoTheNextEpoch) {
  auto run = Launch(3, kSurvive, {"--max-restarts=1", "--settle=1h"});
  ASSERT_TRUE(AwaitStep(*run, {0, 1}, "barrier"));
  ASSERT_TRUE(AwaitStep(*run, {2}, "loss"));
  kill(PidOf(2, *run), SIGKILL);
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
  EXPECT_EQ(CountOf(run->Output(), "is done"), 3);
  EXPECT_THAT(run->Output(), HasSubstr("(restart 1 of at most 1)"));
}

TEST(ElasticLauncherTest, ContinuesInASmallerEpoch) {
  auto run = Launch(3, kSurvive, {"--min-world-size=2", kSettle});
  ASSERT_TRUE(AwaitStep(*run, {0, 1}, "barrier"));
  ASSERT_TRUE(AwaitStep(*run, {2}, "loss"));
  kill(PidOf(2, *run), SIGKILL);
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
  EXPECT_EQ(CountOf(run->Output(), "is done"), 2);
  EXPECT_THAT(run->Output(), AllOf(HasSubstr("SIGKILL); the job goes on with 2 of 3 ranks"),
                                   HasSubstr("rank 0 of 2 was rank 0 before"),
                                   HasSubstr("rank 1 of 2 was rank 1 before")));
}

// Returns a variable of the process's environment.
std::string VariableOf(pid_t process, const std::string& name) {
  std::ifstream file(absl::StrCat("/proc/", process, "/environ"));
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (absl::StartsWith(entry, name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

TEST(ElasticLauncherTest, RanksAdmitAManuallyStartedNewcomer) {
  const Args steps = {"first:newcomers", "first:rejoin", "allgather", "leave"};
  auto run = Launch(3, steps, {"--max-world-size=4", kSettle, "--job=growing"});
  ASSERT_TRUE(AwaitStep(*run, {0, 1, 2}, "newcomers"));
  const pid_t rank_0 = PidOf(0, *run);
  auto newcomer = StartRank(
      VariableOf(rank_0, "MUSTER_COORDINATOR"), -1, steps,
      {{"MUSTER_JOB", "growing"}, {"MUSTER_TOKEN_FILE", VariableOf(rank_0, "MUSTER_TOKEN_FILE")}});
  EXPECT_EQ(newcomer->Wait(), kSuccess) << newcomer->Output();
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
  EXPECT_THAT(newcomer->Output(), HasSubstr("rank 3 is done"));
  for (int rank : {0, 1, 2}) {
    EXPECT_THAT(run->Output(),
                HasSubstr(absl::StrCat("rank ", rank, " of 4 was rank ", rank, " before")));
  }
}

// ---- Leased work ----

uint64_t TokenOf(const Process& process) {
  const std::string mark = "holds the lease with token ";
  const std::string output = process.Output();
  const size_t at = output.find(mark);
  return at == std::string::npos ? 0 : std::stoull(output.substr(at + mark.size()));
}

class LostHolderTest : public ElasticTest {
 protected:
  // Rank 2 holds the lease that the others wait for. If it is lost, one of them must get the lease.
  void StartWithHolder() {
    Start({"--world-size=3", "--min-world-size=2", kSettle},
          {"first:2:hold", "barrier", "first:2:" + gate_.wait(), "first:2:complete",
           "first:2:exit=0", "try:lease", "rejoin", "lease", "allgather", "leave"});
    ASSERT_TRUE(status_->WaitForParked(2, "lease"));
  }

  // Expects that one survivor gets a higher token, and the other one its result.
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

TEST_F(LostHolderTest, NextWaiterTakesOverWithAHigherToken) {
  ASSERT_NO_FATAL_FAILURE(StartWithHolder());
  const uint64_t token = TokenOf(RankOf(2));
  Lose(RankOf(2));
  ExpectTakenOver(token);
}

TEST_F(LostHolderTest, NextWaiterTakesOverAfterADaemonKillToo) {
  ASSERT_NO_FATAL_FAILURE(StartWithHolder());
  const uint64_t token = TokenOf(RankOf(2));
  daemon_->Kill();
  Lose(RankOf(2));
  daemon_->Restart();
  ExpectTakenOver(token);
}

TEST_F(LostHolderTest, CompletionIsRejectedIfItWasOnlyPresumedDead) {
  ASSERT_NO_FATAL_FAILURE(StartWithHolder());
  Process& holder = RankOf(2);
  ASSERT_TRUE(AwaitStep(holder, {2}, "wait"));
  const uint64_t token = TokenOf(holder);
  holder.Signal(SIGSTOP);
  ExpectTakenOver(token);
  gate_.Open();
  holder.Signal(SIGCONT);
  EXPECT_EQ(holder.Wait(), kRankError) << holder.Output();
  EXPECT_THAT(holder.Output(),
              AllOf(HasSubstr("begins complete"), HasSubstr("error: ABORTED"),
                    AnyOf(HasSubstr("was lost"), HasSubstr("was formed without this process"))));
}

// The same for a node's lease. No daemon has seen both the loss of the holder and its return.
class LostHolderAndDaemonTest : public ElasticTest {
 protected:
  // Rank 2 is stopped, and has lost the lease to a survivor, which is still working.
  void StartWithSuccessor() {
    Start({"--world-size=3", "--min-world-size=2", kSettle},
          {"first:2:hold=node", "barrier", "first:2:" + stale_.wait(), "first:2:complete",
           "first:2:exit=0", "try:hold=node", "rejoin", "hold=node", successor_.wait(), "complete",
           "allgather", "leave"});
    ASSERT_TRUE(status_->WaitForParked(2, "lease"));
    holder_ = &RankOf(2);
    ASSERT_TRUE(AwaitStep(*holder_, {2}, "wait"));  // it has heard that the barrier has completed
    holder_->Signal(SIGSTOP);
    AwaitSuccessor();
  }

  void RestartDaemon() {
    daemon_->Kill();
    daemon_->Restart();
    status_ = std::make_unique<StatusReader>(daemon_->address());
  }

  void AwaitSuccessor() {
    ASSERT_TRUE(WaitUntil([&] { return SuccessorsToken() > 0; }));
    ASSERT_GT(SuccessorsToken(), TokenOf(*holder_));
    ASSERT_TRUE(status_->WaitForParked(1, "lease"));
  }

  uint64_t SuccessorsToken() { return std::max(TokenOf(RankOf(0)), TokenOf(RankOf(1))); }

  void StopSurvivors() {
    for (int rank : {0, 1}) RankOf(rank).Stop();
  }
  void ContinueSurvivors() {
    for (int rank : {0, 1}) RankOf(rank).Signal(SIGCONT);
  }

  void ExpectRefused() {
    stale_.Open();
    EXPECT_EQ(holder_->Wait(), kRankError) << holder_->Output();
    EXPECT_THAT(holder_->Output(), AllOf(HasSubstr("begins complete"), HasSubstr("error: ABORTED"),
                                         HasSubstr("formed without this process")));
  }

  // Expects the successor's result.
  void ExpectDoneBySuccessor() {
    successor_.Open();
    std::string outputs;
    for (int rank : {0, 1}) {
      EXPECT_EQ(RankOf(rank).Wait(), kSuccess) << RankOf(rank).Output();
      outputs += RankOf(rank).Output();
    }
    EXPECT_THAT(outputs, HasSubstr(TokenOf(RankOf(0)) > 0 ? "done by rank 0" : "done by rank 1"));
  }

  const Gate stale_;
  const Gate successor_;
  Process* holder_ = nullptr;
};

TEST_F(LostHolderAndDaemonTest, RestartedDaemonRejectsItsCompletion) {
  ASSERT_NO_FATAL_FAILURE(StartWithSuccessor());
  RestartDaemon();
  ASSERT_TRUE(status_->WaitForParked(1, "lease"));  // the survivors have reconnected
  holder_->Signal(SIGCONT);
  ExpectRefused();
  ExpectDoneBySuccessor();
}

// At first, the new daemon only knows what the stale holder claims.
TEST_F(LostHolderAndDaemonTest, CompletionIsRejectedEvenIfItReturnsFirst) {
  ASSERT_NO_FATAL_FAILURE(StartWithSuccessor());
  StopSurvivors();
  RestartDaemon();
  stale_.Open();
  holder_->Signal(SIGCONT);
  ASSERT_TRUE(status_->WaitFor([](const v1::GetStatusResponse& job) {
    return absl::StrContains(job.DebugString(), "in CompleteLease");
  }));
  ContinueSurvivors();
  ExpectRefused();
  ExpectDoneBySuccessor();
}

}  // namespace
}  // namespace muster::testing
