// Two daemons for one job. There may be errors, but never a wrong result.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/network/tcp_proxy.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TwoDaemonsTest, SecondDaemonOnAPortDoesNotStart) {
  const auto daemon = TestDaemon::Start();
  const auto second = Process::Start({MusterdPath(), "--listen=" + daemon->address()});
  EXPECT_EQ(second->Wait(), (Exit{false, 1}));
  EXPECT_THAT(second->Output(), HasSubstr("another process uses this port"));
}

// Expects that a rank joins a daemon, and times out with the missing ranks.
void ExpectGivesUp(const TestDaemon& daemon, int rank, const std::string& missing) {
  ASSERT_TRUE(StatusReader(daemon.address()).WaitForParked(1, "Join"));
  const auto process = StartRank(daemon.address(), rank, {"allgather"}, {{"MUSTER_TIMEOUT", "5s"}});
  EXPECT_EQ(process->Wait(), kRankError);
  EXPECT_THAT(process->Output(),
              AllOf(HasSubstr("error: DEADLINE_EXCEEDED"), HasSubstr("2 of 4 have joined; "),
                    HasSubstr(missing), Not(HasSubstr("begins"))));
}

TEST(TwoDaemonsTest, SplitJobNeverForms) {
  const auto one = TestDaemon::Start({"--world-size=4"});
  const auto two = TestDaemon::Start({"--world-size=4"});
  std::vector<std::unique_ptr<Process>> waiting;
  waiting.push_back(StartRank(one->address(), 1, {"allgather"}));
  waiting.push_back(StartRank(two->address(), 3, {"allgather"}));
  ExpectGivesUp(*one, 0, "missing: ranks 2-3;");
  ExpectGivesUp(*two, 2, "missing: ranks 0-1;");
  for (const auto& rank : waiting) {
    EXPECT_TRUE(rank->Running());
    EXPECT_THAT(rank->Output(), Not(HasSubstr("begins")));
  }
}

// A wrong DNS entry or a second replica of the daemon does this to a running job.
TEST(TwoDaemonsTest, SplittingARunningJobEndsItWithAborted) {
  const Args flags = {"--world-size=4", "--keepalive-time=1s", "--keepalive-timeout=3s",
                      "--member-grace=500ms", "--recovery-grace=6s"};
  const auto one = TestDaemon::Start(flags);
  const auto two = TestDaemon::Start(flags);
  TcpProxy proxy(one->port());
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(
        StartRank(rank < 2 ? one->address() : proxy.address(), rank, {"run-until-stopped"}));
  }
  for (auto& rank : ranks) ASSERT_TRUE(rank->WaitForOutput("is on its way"));
  proxy.Redirect(two->port());
  proxy.Cut();
  ExpectExits(ranks, kRankError);
  for (auto& rank : ranks) EXPECT_THAT(rank->Output(), HasSubstr("error: ABORTED"));
}

}  // namespace
}  // namespace muster::testing
