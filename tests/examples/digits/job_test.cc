// The program on several ranks of a job: the promise that their number does not matter.

#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/examples/digits/run_digits.h"
#include "tests/examples/digits/temp_file.h"
#include "tests/util/daemon.h"

namespace digits {
namespace {

using ::muster::testing::Exit;
using ::muster::testing::MusterdPath;
using ::muster::testing::Process;
using ::muster::testing::Runfile;
using ::muster::testing::TestDaemon;
using ::testing::HasSubstr;

// The program on `ranks` ranks of one node.
std::vector<std::string> Launch(int ranks, const std::vector<std::string>& flags) {
  std::vector<std::string> command = {
      Runfile("client/cli/muster"), "run",         "--musterd", MusterdPath(), "--nproc-per-node",
      absl::StrCat(ranks),          "--no-prefix", "--",        ProgramPath()};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

Curve CurveAlone(const std::vector<std::string>& flags) { return RunForCurve(CommandAlone(flags)); }

// The program on four ranks, two on each of two nodes, started without the launcher: so each rank's
// own end can be seen.
std::vector<std::unique_ptr<Process>> StartTwoNodesOfTwo(const TestDaemon& daemon,
                                                         const std::vector<std::string>& flags) {
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(
        Process::Start(CommandAlone(flags), {{"MUSTER_COORDINATOR", daemon.address()},
                                             {"MUSTER_WORLD_SIZE", "4"},
                                             {"MUSTER_RANK", absl::StrCat(rank)},
                                             {"MUSTER_NODE_ID", absl::StrCat("node", rank / 2)}}));
  }
  return ranks;
}

class WorldSize : public testing::TestWithParam<int> {};

TEST_P(WorldSize, DoesNotChangeTheCurve) {
  const Curve alone = CurveAlone({});
  const Curve curve = RunForCurve(Launch(GetParam(), {}));
  ExpectSameLosses(curve, alone);
  EXPECT_GT(curve.final_accuracy, 0.95);
}

// Five images to a batch: with eight ranks some have none.
TEST_P(WorldSize, DoesNotChangeTheCurveOfTinyBatches) {
  std::string lines;
  for (int i = 0; i < 101; ++i) lines += Line(i % 17, i % 10);
  const std::vector<std::string> flags = {
      "--data", TempFile("small.csv", lines), "--batch", "5", "--epochs", "3"};
  ExpectSameLosses(RunForCurve(Launch(GetParam(), flags)), CurveAlone(flags));
}

INSTANTIATE_TEST_SUITE_P(DigitsJob, WorldSize, testing::Values(1, 2, 3, 4, 5, 8));

TEST(DigitsJob, TwoNodesUnpackTheDataEachAndGiveTheSameCurve) {
  const std::unique_ptr<TestDaemon> daemon = TestDaemon::Start();
  ASSERT_NE(daemon, nullptr);
  const auto ranks = StartTwoNodesOfTwo(*daemon, {"--data", DataPath(), "--epochs", "2"});
  for (const auto& rank : ranks) EXPECT_EQ(rank->Wait(), (Exit{false, 0})) << rank->Output();
  const Ended alone = RunAlone({"--epochs", "2"});
  // Eight digits: the order of the sum's terms shows in the last ones.
  const std::string expected = LinesWith("final loss=", alone.output).at(0).substr(0, 20);
  EXPECT_THAT(ranks[0]->Output(), HasSubstr(expected));
  EXPECT_THAT(ranks[0]->Output(), HasSubstr("2 node(s)"));
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(ranks[rank]->Output(), "");
}

TEST(DigitsJob, AMalformedLineIsReportedOnceAndEndsEveryRank) {
  const std::unique_ptr<TestDaemon> daemon = TestDaemon::Start();
  ASSERT_NE(daemon, nullptr);
  const std::string data = TempFile("bad.csv", Line(1, 1) + "1,2,3\n" + Line(3, 3));
  const auto ranks = StartTwoNodesOfTwo(*daemon, {"--data", data});
  std::string output;
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank->Wait(), (Exit{false, 1}));
    output += rank->Output();
  }
  EXPECT_EQ(output,
            absl::StrCat("digits: ", data, ":2: 3 values, expected 65: 64 pixels and a label\n"));
}

TEST(DigitsJob, AFileThatCannotBeUnpackedIsReportedOnceAndEndsEveryRank) {
  const std::unique_ptr<TestDaemon> daemon = TestDaemon::Start();
  ASSERT_NE(daemon, nullptr);
  const std::string data = TempFile("bad.csv.gz", "not gzip");
  const auto ranks = StartTwoNodesOfTwo(*daemon, {"--data", data});
  std::string output;
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank->Wait(), (Exit{false, 1}));
    output += rank->Output();
  }
  EXPECT_EQ(output, absl::StrCat("digits: cannot unpack ", data, ": not a gzip file\n"));
}

TEST(DigitsJob, AFileThatRankZeroCannotWriteEndsEveryRank) {
  const std::unique_ptr<TestDaemon> daemon = TestDaemon::Start();
  ASSERT_NE(daemon, nullptr);
  const auto ranks = StartTwoNodesOfTwo(
      *daemon, {"--data", DataPath(), "--epochs", "1", "--save", "/nonexistent/weights"});
  for (const auto& rank : ranks) EXPECT_EQ(rank->Wait(), (Exit{false, 1}));
  EXPECT_THAT(ranks[0]->Output(), HasSubstr("digits: rank 0 (node 'node0', pid "));
  EXPECT_THAT(ranks[0]->Output(), HasSubstr("cannot write /nonexistent/weights"));
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(ranks[rank]->Output(), "");
}

TEST(DigitsJob, TheLauncherFailsWithTheProgram) {
  const std::string data = TempFile("bad.csv", Line(1, 1) + Line(17, 1));
  const std::unique_ptr<Process> launcher = Process::Start(Launch(4, {"--data", data}));
  EXPECT_EQ(launcher->Wait(), (Exit{false, 1})) << launcher->Output();
  EXPECT_EQ(LinesWith(absl::StrCat(data, ":2: pixel 1 is '17'"), launcher->Output()).size(), 1)
      << launcher->Output();
}

TEST(DigitsJob, EverySurvivorNamesARankThatWasKilled) {
  const std::unique_ptr<TestDaemon> daemon = TestDaemon::Start();
  ASSERT_NE(daemon, nullptr);
  const auto ranks = StartTwoNodesOfTwo(*daemon, {"--data", DataPath(), "--epochs", "1000000"});
  ASSERT_TRUE(ranks[0]->WaitForOutput("epoch   1"));
  ranks[3]->Signal(SIGKILL);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks[rank]->Wait(), (Exit{false, 1}));
    EXPECT_THAT(ranks[rank]->Output(), HasSubstr("rank 3"));
  }
}

class LostRank : public testing::TestWithParam<int> {};

TEST_P(LostRank, IsSurvivedByAnElasticJobWithTheSameResult) {
  const std::unique_ptr<TestDaemon> daemon =
      TestDaemon::Start({"--min-world-size=2", "--settle=3s", "--member-grace=200ms"});
  ASSERT_NE(daemon, nullptr);
  const std::vector<std::string> flags = {"--data", DataPath(), "--epochs", "200"};
  const auto ranks = StartTwoNodesOfTwo(*daemon, flags);
  ASSERT_TRUE(ranks[0]->WaitForOutput("epoch   1"));
  ranks[GetParam()]->Signal(SIGKILL);
  for (int rank = 0; rank < 4; ++rank) {
    if (rank != GetParam()) EXPECT_EQ(ranks[rank]->Wait(), (Exit{false, 0})) << rank;
  }
  const std::string main = ranks[GetParam() == 0 ? 1 : 0]->Output();
  EXPECT_THAT(main, HasSubstr("world size 3"));
  // Eight digits: the order of the sum's terms shows in the last ones.
  const Ended alone = RunAlone({"--epochs", "200"});
  EXPECT_THAT(main, HasSubstr(LinesWith("final loss=", alone.output).at(0).substr(0, 20)));
}

INSTANTIATE_TEST_SUITE_P(DigitsJob, LostRank, testing::Values(0, 3));

}  // namespace
}  // namespace digits
