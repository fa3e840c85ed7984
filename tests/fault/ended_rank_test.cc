// Ranks that end on their own, and ranks that never join.

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(EndedRankTest, EverySurvivorNamesTheExitStatus) {
  auto daemon = TestDaemon::Start({"--world-size=3", "--member-grace=1h"});
  auto run = LaunchAt(*daemon, 3, {"barrier", "1:exit=3", "barrier"}, {"--node-id=alpha"});
  EXPECT_EQ(run->Wait(), kRankError);
  const std::string story = SentenceAbout(1, run->Output());
  EXPECT_THAT(story, AllOf(HasSubstr("(node 'alpha', host "),
                           HasSubstr(absl::StrCat("pid ", PidOf(1, *run), ") was lost at ")),
                           HasSubstr("exited with status 3")));
  EXPECT_EQ(CountOf(run->Output(), story), 3)
      << "each survivor, and the launcher's last line: " << run->Output();
  EXPECT_TRUE(daemon->process().WaitForOutput(story));
  EXPECT_THAT(MusterStatus(*daemon), HasSubstr(story));
}

// To its launcher, such a rank looks like one that has finished its work.
TEST(EndedRankTest, ExitWithStatus0WithoutLeaveIsBlamed) {
  auto daemon = TestDaemon::Start({"--world-size=2"});
  auto run = LaunchAt(*daemon, 2, {"1:exit=0", "barrier"});
  EXPECT_EQ(run->Wait(), (Exit{false, 1}));
  const std::string cause = "ended with 0 without Leave(); call job->Leave() before main returns";
  EXPECT_THAT(SentenceAbout(1, run->Output()), AllOf(HasSubstr(") was lost at "), HasSubstr(cause)))
      << run->Output();
  EXPECT_THAT(run->Output(),
              ContainsRegex("muster: job default failed: rank 1 .* was lost at .*: ended with 0 "
                            "without Leave\\(\\); .*; then rank 0 exited with status 3\n$"));
  EXPECT_EQ(CountOf(run->Output(), "error: ABORTED"), 1) << run->Output();
}

TEST(EndedRankTest, JoinTimeoutNamesARankThatNeverJoins) {
  auto daemon = TestDaemon::Start({"--world-size=3"});
  const auto patient = StartRank(daemon->address(), 1, {});
  ASSERT_TRUE(StatusReader(daemon->address()).WaitForParked(1, "Join"));
  const auto rank = StartRank(daemon->address(), 0, {}, {{"MUSTER_TIMEOUT", "5s"}});
  EXPECT_EQ(rank->Wait(), kRankError);
  EXPECT_THAT(rank->Output(), AllOf(HasSubstr("error: DEADLINE_EXCEEDED"),
                                    HasSubstr("2 of 3 have joined; missing: rank 2;")));
}

TEST(EndedRankTest, TimeoutNamesTheMissingRankItsNodeAndLastCall) {
  auto daemon = TestDaemon::Start({"--world-size=2"});
  Gate gate;
  auto ranks = StartRanks(
      daemon->address(), 2,
      {"allgather", absl::StrCat("1:", gate.wait()), "0:try:barrier=200ms", "barrier", "leave"});
  ASSERT_TRUE(ranks[0]->WaitForOutput("error: DEADLINE_EXCEEDED"));
  EXPECT_THAT(SentenceAbout(1, ranks[0]->Output()),
              AllOf(HasSubstr(absl::StrCat("pid ", ranks[1]->pid())),
                    HasSubstr("last completed AllGather(")));
  gate.Open();
  ExpectExits(ranks, kSuccess);
}

// The rank is named long before any time-out.
TEST(EndedRankTest, LateRankIsNamedInLogsAndStatus) {
  auto daemon = TestDaemon::Start({"--world-size=2", "--stall-warning=100ms"});
  Gate gate;
  auto ranks = StartRanks(daemon->address(), 2,
                          {"allgather", absl::StrCat("1:", gate.wait()), "barrier", "leave"});
  const std::string late = absl::StrCat("pid ", ranks[1]->pid(), "), last completed AllGather(");
  EXPECT_TRUE(ranks[0]->WaitForOutput("Barrier('in a barrier') op 1 of the world has waited"));
  EXPECT_TRUE(ranks[0]->WaitForOutput(late));
  EXPECT_TRUE(daemon->process().WaitForOutput(late));
  EXPECT_THAT(MusterStatus(*daemon), HasSubstr("last completed AllGather("));
  EXPECT_TRUE(AwaitCount(*ranks[0], late, 3));
  EXPECT_TRUE(AwaitCount(daemon->process(), late, 3));
  gate.Open();
  ExpectExits(ranks, kSuccess);
}

TEST(EndedRankTest, MismatchedCallsAreBothNamed) {
  auto daemon = TestDaemon::Start({"--world-size=3"});
  auto ranks = StartRanks(daemon->address(), 3, {"2:allgather", "barrier"});
  ExpectExits(ranks, kRankError);
  for (const auto& rank : ranks) {
    EXPECT_THAT(rank->Output(),
                AllOf(HasSubstr("error: FAILED_PRECONDITION"), HasSubstr("called Barrier("),
                      HasSubstr("rank 2 called AllGather(")));
  }
}

}  // namespace
}  // namespace muster::testing
