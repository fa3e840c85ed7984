// Two daemons for one job: there may be errors, never a wrong result.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fault/scenario.h"
#include "tests/util/tcp_proxy.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TwoDaemonsTest, TheSecondOnOnePortIsRefused) {
  const auto daemon = TestDaemon::Start();
  const auto second = Process::Start({MusterdPath(), "--listen=" + daemon->address()});
  EXPECT_EQ(second->Wait(), (Exit{false, 1}));
  EXPECT_THAT(second->Output(), HasSubstr("another process uses this port"));
}

TEST(TwoDaemonsTest, HalfOfTheRanksAtEachWaitForTheOtherHalfAndNeverGoOn) {
  const auto one = TestDaemon::Start({"--world-size=4"});
  const auto two = TestDaemon::Start({"--world-size=4"});
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(StartRank(rank < 2 ? one->address() : two->address(), rank, {"allgather"},
                              {{"MUSTER_TIMEOUT", "2s"}}));
  }
  ExpectEnds(ranks, kRankError);
  EXPECT_THAT(ranks[0]->Output(), AllOf(HasSubstr("of 4 have joined"), Not(HasSubstr("begins"))));
  EXPECT_THAT(ranks[3]->Output(), AllOf(HasSubstr("of 4 have joined"), Not(HasSubstr("begins"))));
}

// What a wrong DNS entry or a second replica of the daemon does to a job that runs.
TEST(TwoDaemonsTest, ARunningJobOfWhichHalfIsSentToAnotherDaemonEndsWithAborted) {
  const Words flags = {"--world-size=4", "--keepalive-time=1s", "--keepalive-timeout=3s",
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
  ExpectEnds(ranks, kRankError);
  for (auto& rank : ranks) EXPECT_THAT(rank->Output(), HasSubstr("error: ABORTED"));
}

}  // namespace
}  // namespace muster::testing
