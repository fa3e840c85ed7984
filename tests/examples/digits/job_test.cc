// Tests of the program on several ranks. The number of ranks must not change the result.

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/examples/digits/run_digits.h"
#include "tests/examples/digits/temp_file.h"
#include "tests/util/job/ranks.h"

namespace digits {
namespace {

using ::muster::testing::Args;
using ::muster::testing::Exit;
using ::muster::testing::kSuccess;
using ::muster::testing::LaunchCommand;
using ::muster::testing::Process;
using ::muster::testing::Ranks;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr Exit kFailure = {false, 1};

// Returns the command for `ranks` ranks on one node.
Args Launch(int ranks, const Args& flags) {
  return LaunchCommand({"--nproc-per-node", absl::StrCat(ranks), "--no-prefix"},
                       CommandAlone(flags));
}

Curve CurveAlone(const std::vector<std::string>& flags) { return RunForCurve(CommandAlone(flags)); }

// Starts the program on four ranks, two on each of two nodes. There is no launcher, so the test
// sees how each rank ends.
Ranks TwoNodesOfTwo(const Args& flags) { return Ranks(4, 2, CommandAlone(flags)); }

class WorldSize : public testing::TestWithParam<int> {};

TEST_P(WorldSize, DoesNotChangeTheCurve) {
  const Curve alone = CurveAlone({});
  const Curve curve = RunForCurve(Launch(GetParam(), {}));
  ExpectSameLosses(curve, alone);
  EXPECT_GT(curve.final_accuracy, 0.95);
}

// With five images in a batch, some of eight ranks have none.
TEST_P(WorldSize, DoesNotChangeTheCurveOfTinyBatches) {
  std::string lines;
  for (int i = 0; i < 101; ++i) lines += Line(i % 17, i % 10);
  const std::vector<std::string> flags = {
      "--data", TempFile("small.csv", lines), "--batch", "5", "--epochs", "3"};
  ExpectSameLosses(RunForCurve(Launch(GetParam(), flags)), CurveAlone(flags));
}

INSTANTIATE_TEST_SUITE_P(DigitsJob, WorldSize, testing::Values(1, 2, 3, 4, 5, 8));

TEST(DigitsJob, TwoNodesUnpackTheDataEachAndGiveTheSameCurve) {
  const Ranks ranks = TwoNodesOfTwo({"--data", DataPath(), "--epochs", "2"});
  EXPECT_THAT(ranks.exits(), Each(kSuccess));
  const Ended alone = RunAlone({"--epochs", "2"});
  // Compares eight digits: the last ones depend on the order of the sum's terms.
  const std::string expected = LinesWith("final loss=", alone.output).at(0).substr(0, 20);
  EXPECT_THAT(ranks.output(0), HasSubstr(expected));
  EXPECT_THAT(ranks.output(0), HasSubstr("2 node(s)"));
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(ranks.output(rank), "");
}

TEST(DigitsJob, AMalformedLineIsReportedOnceAndEndsEveryRank) {
  const std::string data = TempFile("bad.csv", Line(1, 1) + "1,2,3\n" + Line(3, 3));
  const Ranks ranks = TwoNodesOfTwo({"--data", data});
  EXPECT_THAT(ranks.exits(), Each(kFailure));
  EXPECT_EQ(absl::StrJoin(ranks.outputs(), ""),
            absl::StrCat("digits: ", data, ":2: 3 values, expected 65: 64 pixels and a label\n"));
}

TEST(DigitsJob, AFileThatCannotBeUnpackedIsReportedOnceAndEndsEveryRank) {
  const std::string data = TempFile("bad.csv.gz", "not gzip");
  const Ranks ranks = TwoNodesOfTwo({"--data", data});
  EXPECT_THAT(ranks.exits(), Each(kFailure));
  EXPECT_EQ(absl::StrJoin(ranks.outputs(), ""),
            absl::StrCat("digits: cannot unpack ", data, ": not a gzip file\n"));
}

TEST(DigitsJob, AFileThatRankZeroCannotWriteEndsEveryRank) {
  const Ranks ranks =
      TwoNodesOfTwo({"--data", DataPath(), "--epochs", "1", "--save", "/nonexistent/weights"});
  EXPECT_THAT(ranks.exits(), Each(kFailure));
  EXPECT_THAT(ranks.output(0), HasSubstr("digits: rank 0 (node 'node-0', pid "));
  EXPECT_THAT(ranks.output(0), HasSubstr("cannot write /nonexistent/weights"));
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(ranks.output(rank), "");
}

TEST(DigitsJob, TheLauncherFailsWithTheProgram) {
  const std::string data = TempFile("bad.csv", Line(1, 1) + Line(17, 1));
  const std::unique_ptr<Process> launcher = Process::Start(Launch(4, {"--data", data}));
  EXPECT_EQ(launcher->Wait(), kFailure) << launcher->Output();
  EXPECT_EQ(LinesWith(absl::StrCat(data, ":2: pixel 1 is '17'"), launcher->Output()).size(), 1)
      << launcher->Output();
}

TEST(DigitsJob, EverySurvivorNamesARankThatWasKilled) {
  const Ranks ranks = TwoNodesOfTwo({"--data", DataPath(), "--epochs", "1000000"});
  ASSERT_TRUE(ranks[0].WaitForOutput("epoch   1"));
  ranks[3].Signal(SIGKILL);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks.exit(rank), (Exit{false, 75})) << "another rank was lost";
    EXPECT_THAT(ranks.output(rank), HasSubstr("rank 3"));
  }
}

class LostRank : public testing::TestWithParam<int> {};

TEST_P(LostRank, IsSurvivedByAnElasticJobWithTheSameResult) {
  const Ranks ranks(4, 2, CommandAlone({"--data", DataPath(), "--epochs", "200"}), {}, {},
                    {"--min-world-size=2", "--settle=5s", "--member-grace=200ms"});
  ASSERT_TRUE(ranks[0].WaitForOutput("epoch   1"));
  ranks[GetParam()].Signal(SIGKILL);
  for (int rank = 0; rank < 4; ++rank) {
    if (rank == GetParam()) continue;
    EXPECT_EQ(ranks.exit(rank), kSuccess) << rank;
  }
  const std::string main = ranks.output(GetParam() == 0 ? 1 : 0);
  EXPECT_THAT(main, HasSubstr("world size 3"));
  // Compares eight digits: the last ones depend on the order of the sum's terms.
  const Ended alone = RunAlone({"--epochs", "200"});
  EXPECT_THAT(main, HasSubstr(LinesWith("final loss=", alone.output).at(0).substr(0, 20)));
}

INSTANTIATE_TEST_SUITE_P(DigitsJob, LostRank, testing::Values(0, 3));

}  // namespace
}  // namespace digits
