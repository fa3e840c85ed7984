// Real processes: the daemon, the launcher, and ranks that use the SDK. tests/fault kills them.

#include <memory>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/version.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Args kPrimitives = {"primitives", "place", "leave"};

// ---- All primitives, on 1 to 8 ranks ----

class WorldSize : public ::testing::TestWithParam<int> {};

TEST_P(WorldSize, EveryPrimitiveGivesTheRightValues) {
  auto run = Launch(GetParam(), kPrimitives);
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
  EXPECT_EQ(CountOf(run->Output(), absl::StrCat(" of ", GetParam(), ", RANK is ")), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Launched, WorldSize, ::testing::Values(1, 2, 4, 8));

TEST(EndToEndTest, RunsAloneWithoutACoordinator) {
  auto run = Process::Start(RankCommand(kPrimitives));
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("rank 0 of 1, "));
}

TEST(EndToEndTest, TwoNodesOfTwoMakeOneJob) {
  auto daemon = TestDaemon::Start({"--world-size", "4", "--exit-when-done"});
  std::vector<std::unique_ptr<Process>> nodes;
  for (int node = 0; node < 2; ++node) {
    nodes.push_back(LaunchAt(*daemon, 2, kPrimitives,
                             {"--nnodes", "2", "--node-rank", absl::StrCat(node), "--node-id",
                              absl::StrCat("node", node)}));
  }
  ExpectExits(nodes, kSuccess);
  EXPECT_EQ(daemon->process().Wait(), kSuccess) << daemon->process().Output();
}

TEST(EndToEndTest, DaemonAndSdkReportOneVersion) {
  auto version = Process::Start({MusterdPath(), "--version"});
  EXPECT_EQ(version->Wait(), kSuccess);
  EXPECT_THAT(version->Output(), HasSubstr(MUSTER_VERSION));
}

// ---- Failures to join ----

TEST(EndToEndTest, JoinTimeoutNamesTheMissingRank) {
  auto daemon = TestDaemon::Start({"--world-size", "2"});
  auto rank = StartRank(daemon->address(), 0, {}, {{"MUSTER_TIMEOUT", "5s"}});
  EXPECT_EQ(rank->Wait(), kRankError);
  EXPECT_THAT(rank->Output(), AllOf(HasSubstr("DEADLINE_EXCEEDED"), HasSubstr("1 of 2 have joined"),
                                    HasSubstr("missing: rank 1")));
}

TEST(EndToEndTest, CoordinatorOfAnotherJobIsRejected) {
  auto daemon = TestDaemon::Start({"--world-size", "1", "--job", "other"});
  auto rank = StartRank(daemon->address(), -1, {}, {{"MUSTER_JOB", "mine"}});
  EXPECT_EQ(rank->Wait(), kRankError);
  EXPECT_THAT(rank->Output(), HasSubstr("this coordinator serves job 'other'"));
}

TEST(EndToEndTest, UnreachableCoordinatorIsNotSerialMode) {
  auto rank = StartRank("127.0.0.1:1", -1, {}, {{"MUSTER_TIMEOUT", "500ms"}});
  EXPECT_EQ(rank->Wait(), kRankError);
  EXPECT_THAT(rank->Output(), AllOf(HasSubstr("connect"), HasSubstr("127.0.0.1:1")));
}

}  // namespace
}  // namespace muster::testing
