// A rank is killed while the others wait for it in a call.

#include <signal.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int kRanks = 3;
constexpr char kLongGrace[] = "--member-grace=1h";  // only the launcher's report ends it

// The others make a call that needs rank 2, which waits for a loss.
struct Scenario {
  std::string name;
  Args before;
  std::string call;
  std::string doing;  // what the daemon has last seen of the killed rank; TIME: since when
  int parked = 2;     // the number of ranks that the daemon shows as waiting
  int killed = 1;
  int errors = 2;  // a rank that is leaving needs no other rank, and gets no error
};

class KilledRankTest : public ::testing::TestWithParam<Scenario> {
 protected:
  std::unique_ptr<Process> LaunchScenario() {
    Args steps = GetParam().before;
    steps.push_back("2:loss");
    steps.push_back(GetParam().call);
    return LaunchAt(*daemon_, kRanks, steps, {"--node-id=alpha"});
  }

  bool AwaitScenario(Process& run) {
    return AwaitStep(run, {0, 1}, GetParam().call) && AwaitStep(run, {2}, "loss") &&
           status_.WaitForParked(GetParam().parked);
  }

  static ::testing::Matcher<const std::string&> SaysSinceWhen() {
    const std::string words = absl::StrReplaceAll(GetParam().doing, {{"TIME", "[0-9.hms]+"}});
    return ContainsRegex(absl::StrCat("; ", words, "$"));
  }

  const std::unique_ptr<TestDaemon> daemon_ = TestDaemon::Start({"--world-size=3", kLongGrace});
  StatusReader status_{daemon_->address()};
};

TEST_P(KilledRankTest, EverySurvivorNamesItsNodePidSignalAndLastCall) {
  const int killed = GetParam().killed;
  auto run = LaunchScenario();
  ASSERT_TRUE(AwaitScenario(*run)) << run->Output();
  const pid_t pid = PidOf(killed, *run);
  kill(pid, SIGKILL);

  EXPECT_EQ(run->Wait(), (Exit{false, 128 + SIGKILL})) << run->Output();
  const std::string story = SentenceAbout(killed, run->Output());
  EXPECT_THAT(story, AllOf(HasSubstr("(node 'alpha', host "),
                           HasSubstr(absl::StrCat("pid ", pid, ") was lost at ")),
                           HasSubstr("killed by signal 9 (SIGKILL)"), SaysSinceWhen()));
  EXPECT_EQ(CountOf(run->Output(), "error: ABORTED"), GetParam().errors) << run->Output();
  const std::string named =
      absl::StrCat("named: rank ", killed, ", node alpha, pid ", pid, ", missing ", killed,
                   ", cause killed by signal 9 (SIGKILL)");
  EXPECT_EQ(CountOf(run->Output(), named), GetParam().errors) << run->Output();
  EXPECT_EQ(CountOf(run->Output(), story), GetParam().errors + 1)
      << "each error, and the launcher's last line: " << run->Output();
  EXPECT_TRUE(daemon_->process().WaitForOutput(story));
  EXPECT_THAT(MusterStatus(*daemon_), HasSubstr(story));
  EXPECT_EQ(status_.Get().state(), v1::JOB_STATE_FAILED);
}

INSTANTIATE_TEST_SUITE_P(
    While, KilledRankTest,
    ::testing::Values(
        Scenario{
            "InABarrier", {}, "barrier", "in Barrier.'in a barrier'. op 0 of the world for TIME"},
        Scenario{"InABroadcast", {}, "broadcast", "in Broadcast.* op 0 of the world for TIME"},
        Scenario{"InAGather", {}, "gather", "in Gather.* op 0 of the world for TIME"},
        Scenario{"InAnAllGather", {}, "allgather", "in AllGather.* op 0 of the world for TIME"},
        Scenario{
            "WaitingForALease", {"2:hold", "barrier"}, "lease", "in AcquireLease.'work'. for TIME"},
        Scenario{"HoldingALease",
                 {"2:hold", "barrier"},
                 "lease",
                 "last completed Barrier.* op 0 of the world TIME before",
                 2,
                 /*killed=*/2},
        Scenario{"Leaving", {}, "leave", "in Leave for TIME", 2, 1, /*errors=*/1},
        // The daemon knows no calls of the data plane.
        Scenario{"InAnAllReduce",
                 {"connect"},
                 "allreduce",
                 "last completed Communicator::Create.. of the world TIME before",
                 /*parked=*/0}),
    [](const auto& info) { return info.param.name; });

// Without a launcher, the daemon only sees the end of the connection, and waits for the grace.
TEST(KilledRankWithoutLauncherTest, IsReportedByEverySurvivorAfterTheGrace) {
  auto daemon = TestDaemon::Start({"--world-size=3", "--member-grace=300ms"});
  auto ranks = StartRanks(daemon->address(), kRanks, {"connect", "2:loss", "allreduce"});
  for (auto& rank : ranks) ASSERT_TRUE(rank->WaitForOutput("ends connect"));
  ranks[1]->Signal(SIGKILL);
  for (int rank : {0, 2}) {
    EXPECT_EQ(ranks[rank]->Wait(), kRankError);
    EXPECT_THAT(ranks[rank]->Output(),
                AllOf(HasSubstr("error: ABORTED"), HasSubstr("rank 1 (host "),
                      HasSubstr(absl::StrCat("pid ", ranks[1]->pid())),
                      HasSubstr("did not come back within 300ms; last completed ")));
  }
}

// No rank needs it yet, so its place is free again.
TEST(KilledRankWhileJoiningTest, FreesItsPlace) {
  auto daemon = TestDaemon::Start({"--world-size=3", "--member-grace=100ms"});
  StatusReader status(daemon->address());
  const Args steps = {"barrier", "leave"};
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank : {0, 1}) ranks.push_back(StartRank(daemon->address(), rank, steps));
  ASSERT_TRUE(status.WaitForParked(2, "Join"));
  ranks[1]->Signal(SIGKILL);
  EXPECT_EQ(ranks[1]->Wait(), (Exit{true, SIGKILL}));
  ranks.pop_back();
  for (int rank : {1, 2}) ranks.push_back(StartRank(daemon->address(), rank, steps));
  ExpectExits(ranks, kSuccess);
}

}  // namespace
}  // namespace muster::testing
