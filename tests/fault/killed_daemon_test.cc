// musterd is killed and restarted. The job ends with the same results, without any help from
// application code.

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// Rank 2 keeps the others in the call until the gate opens, which is while the daemon is away or
// later.
struct Scenario {
  std::string name;
  Args before;  // the call
  std::string call;
  std::string parked_in;  // as the daemon shows it
  std::string last_does;  // after the gate has opened
  bool opens_while_away = false;
};

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> scenarios;
  for (bool away : {false, true}) {
    const std::string when = away ? "ThatCompletesWhileItIsAway" : "";
    scenarios.insert(scenarios.end(),
                     {{"ABarrier" + when, {}, "barrier", "Barrier", "barrier", away},
                      {"ABroadcast" + when, {}, "broadcast", "Broadcast", "broadcast", away},
                      {"AGather" + when, {}, "gather", "Gather", "gather", away},
                      {"AnAllGather" + when, {}, "allgather", "AllGather", "allgather", away},
                      {"ALease" + when, {"2:hold", "barrier"}, "lease", "lease", "complete", away},
                      {"Leave" + when, {}, "leave", "Leave", "leave", away}});
  }
  return scenarios;
}

class KilledDaemonTest : public ::testing::TestWithParam<Scenario> {
 protected:
  Args StepsOf(int rank) const {
    Args steps = GetParam().before;
    if (rank == 2) steps.push_back(gate_.wait());
    steps.push_back(rank == 2 ? GetParam().last_does : GetParam().call);
    if (GetParam().call != "leave") steps.insert(steps.end(), {"allgather", "leave"});
    return steps;
  }

  void KillAndStartAgain() {
    daemon_->Kill();
    if (GetParam().opens_while_away) gate_.Open();
    daemon_->Restart();
    gate_.Open();
  }

  const Gate gate_;
  const std::unique_ptr<TestDaemon> daemon_ =
      TestDaemon::Start({"--world-size=3", "--exit-when-done"});
};

TEST_P(KilledDaemonTest, EndsWithTheSameResults) {
  StatusReader status(daemon_->address());
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank : {0, 1, 2}) {
    ranks.push_back(StartRank(daemon_->address(), rank, StepsOf(rank)));
  }
  ASSERT_TRUE(status.WaitForParked(2, GetParam().parked_in));
  KillAndStartAgain();
  ExpectExits(ranks, kSuccess);
  if (GetParam().call == "lease") {
    for (int rank : {0, 1}) {
      EXPECT_THAT(ranks[rank]->Output(), HasSubstr("finds the work done by rank 2"));
    }
  }
  EXPECT_EQ(daemon_->process().Wait(), kSuccess) << daemon_->process().Output();
}

INSTANTIATE_TEST_SUITE_P(InTheMiddleOf, KilledDaemonTest, ::testing::ValuesIn(Scenarios()),
                         [](const auto& info) { return info.param.name; });

TEST(KilledDaemonWhileJoiningTest, TheJobStillForms) {
  auto daemon = TestDaemon::Start({"--world-size=3"});
  StatusReader status(daemon->address());
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank : {0, 1}) ranks.push_back(StartRank(daemon->address(), rank, {"barrier", "leave"}));
  ASSERT_TRUE(status.WaitForParked(2, "Join"));
  daemon->Kill();
  daemon->Restart();
  ranks.push_back(StartRank(daemon->address(), 2, {"barrier", "leave"}));
  ExpectExits(ranks, kSuccess);
}

// Returns how often the rank has printed that it has reduced.
int Reduced(const Process& rank) {
  const std::string output = rank.Output();
  const std::string mark = "has reduced ";
  const size_t at = output.rfind(mark);
  return at == std::string::npos ? 0 : std::stoi(output.substr(at + mark.size()));
}

bool AwaitReduced(const Process& rank, int more) {
  const int until = Reduced(rank) + more;
  return WaitUntil([&] { return Reduced(rank) >= until; });
}

TEST(KilledDaemonWhileReducingTest, DataPlaneContinues) {
  auto daemon = TestDaemon::Start({"--world-size=3"});
  Gate gate;
  auto ranks = StartRanks(daemon->address(), 3,
                          {"connect", "reduce-until=" + gate.path(), "barrier", "leave"});
  ASSERT_TRUE(ranks[0]->WaitForOutput("has reduced"));
  daemon->Kill();
  for (const auto& rank : ranks) EXPECT_TRUE(AwaitReduced(*rank, 100)) << rank->Output();
  daemon->Restart();
  for (const auto& rank : ranks) EXPECT_TRUE(AwaitReduced(*rank, 100)) << rank->Output();
  gate.Open();
  ExpectExits(ranks, kSuccess);
}

// A member that does not reconnect to the restarted daemon is lost when the recovery ends.
TEST(KilledDaemonWhileARankDiesTest, KilledRankIsLostAfterTheRecoveryGrace) {
  auto daemon = TestDaemon::Start(
      {"--world-size=3", "--keepalive-time=1s", "--keepalive-timeout=3s", "--recovery-grace=6s"});
  StatusReader status(daemon->address());
  auto ranks = StartRanks(daemon->address(), 3, {"2:loss", "barrier"});
  ASSERT_TRUE(status.WaitForParked(2, "Barrier"));
  daemon->Kill();
  ranks[1]->Signal(SIGKILL);
  EXPECT_EQ(ranks[1]->Wait(), (Exit{true, SIGKILL}));
  const pid_t lost = ranks[1]->pid();
  ranks.erase(ranks.begin() + 1);
  daemon->Restart();
  ExpectExits(ranks, kRankError);
  for (const auto& rank : ranks) {
    EXPECT_THAT(rank->Output(), HasSubstr("rank 1 (host "));
    EXPECT_THAT(rank->Output(), HasSubstr(absl::StrCat("pid ", lost, ") was lost at ")));
    EXPECT_THAT(rank->Output(), HasSubstr("no call since the coordinator was restarted"));
    EXPECT_THAT(rank->Output(),
                HasSubstr("it did not attach to the restarted coordinator within 6s"));
  }
}

}  // namespace
}  // namespace muster::testing
