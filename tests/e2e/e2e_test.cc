// Real processes: the daemon, the launcher and ranks that link the SDK. tests/fault kills them.

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/version.h"
#include "tests/util/daemon.h"
#include "tests/util/process.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kRankError = 3;

std::string RankPath() { return Runfile("tests/e2e/rank"); }

// `muster run` of the rank program, with a coordinator of its own.
std::vector<std::string> Launch(int ranks) {
  return {Runfile("client/cli/muster"), "run", "--musterd", MusterdPath(), "--nproc-per-node",
          absl::StrCat(ranks),          "--",  RankPath()};
}

// The same as one node of a job whose coordinator runs.
std::vector<std::string> LaunchNode(const TestDaemon& daemon, int ranks,
                                    const std::vector<std::string>& flags = {}) {
  std::vector<std::string> command = {
      Runfile("client/cli/muster"), "run", "--coordinator", daemon.address(), "--nproc-per-node",
      absl::StrCat(ranks)};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"--", RankPath()});
  return command;
}

int CountOf(const std::string& text, const std::string& what) {
  return static_cast<int>(std::vector<std::string>(absl::StrSplit(text, what)).size()) - 1;
}

// ---- All primitives, on 1 to 8 ranks ----

class WorldSize : public ::testing::TestWithParam<int> {};

TEST_P(WorldSize, EveryPrimitiveGivesTheRightValues) {
  auto run = Process::Start(Launch(GetParam()));
  EXPECT_EQ(run->Wait(), (Exit{false, 0})) << run->Output();
  EXPECT_EQ(CountOf(run->Output(), absl::StrCat(" of ", GetParam(), " is done")), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Launched, WorldSize, ::testing::Values(1, 2, 4, 8));

TEST(EndToEndTest, WithoutACoordinatorTheSameProgramRunsAlone) {
  auto run = Process::Start({RankPath()});
  EXPECT_EQ(run->Wait(), (Exit{false, 0})) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("rank 0 of 1 is done"));
}

TEST(EndToEndTest, TwoNodesOfTwoMakeOneJob) {
  auto daemon = TestDaemon::Start({"--world-size", "4", "--exit-when-done"});
  std::vector<std::unique_ptr<Process>> nodes;
  for (int node = 0; node < 2; ++node) {
    nodes.push_back(Process::Start(LaunchNode(*daemon, 2,
                                              {"--nnodes", "2", "--node-rank", absl::StrCat(node),
                                               "--node-id", absl::StrCat("node", node)})));
  }
  for (auto& node : nodes) EXPECT_EQ(node->Wait(), (Exit{false, 0})) << node->Output();
  EXPECT_EQ(daemon->process().Wait(), (Exit{false, 0})) << daemon->process().Output();
}

TEST(EndToEndTest, DaemonAndSdkAreOneRelease) {
  auto version = Process::Start({MusterdPath(), "--version"});
  EXPECT_EQ(version->Wait(), (Exit{false, 0}));
  EXPECT_THAT(version->Output(), HasSubstr(MUSTER_VERSION));
}

// ---- Joining that goes wrong ----

TEST(EndToEndTest, AMissingRankIsNamedWhenJoiningTimesOut) {
  auto daemon = TestDaemon::Start({"--world-size", "2"});
  auto rank = Process::Start({RankPath()}, {{"MUSTER_COORDINATOR", daemon->address()},
                                            {"MUSTER_RANK", "0"},
                                            {"MUSTER_TIMEOUT", "500ms"}});
  EXPECT_EQ(rank->Wait(), (Exit{false, kRankError}));
  EXPECT_THAT(rank->Output(), AllOf(HasSubstr("DEADLINE_EXCEEDED"), HasSubstr("1 of 2 have joined"),
                                    HasSubstr("missing: rank 1")));
}

TEST(EndToEndTest, AnotherJobsCoordinatorIsRefused) {
  auto daemon = TestDaemon::Start({"--world-size", "1", "--job", "other"});
  auto rank = Process::Start({RankPath()},
                             {{"MUSTER_COORDINATOR", daemon->address()}, {"MUSTER_JOB", "mine"}});
  EXPECT_EQ(rank->Wait(), (Exit{false, kRankError}));
  EXPECT_THAT(rank->Output(), HasSubstr("this coordinator serves job 'other'"));
}

TEST(EndToEndTest, AConfiguredCoordinatorThatIsNotThereIsNeverSerialMode) {
  auto rank = Process::Start({RankPath()},
                             {{"MUSTER_COORDINATOR", "127.0.0.1:1"}, {"MUSTER_TIMEOUT", "500ms"}});
  EXPECT_EQ(rank->Wait(), (Exit{false, kRankError}));
  EXPECT_THAT(rank->Output(), AllOf(HasSubstr("connect"), HasSubstr("127.0.0.1:1")));
}

}  // namespace
}  // namespace muster::testing
