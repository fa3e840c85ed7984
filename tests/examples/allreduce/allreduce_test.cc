// Tests of the program on ranks of this machine, over Gloo.

#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace allreduce {
namespace {

using ::muster::testing::Args;
using ::muster::testing::Exit;
using ::muster::testing::kSuccess;
using ::muster::testing::LaunchCommand;
using ::muster::testing::Process;
using ::muster::testing::Runfile;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr Exit kFailure = {false, 1};
constexpr Exit kUsageError = {false, 64};

struct Ended {
  Exit exit;
  std::string output;
};

Ended Finish(const std::vector<std::string>& command) {
  const std::unique_ptr<Process> process = Process::Start(command);
  const Exit exit = process->Wait();
  return {exit, process->Output()};
}

std::string ProgramPath() { return Runfile("examples/allreduce/allreduce"); }

Ended RunRanks(int ranks, const Args& flags) {
  Args program = {ProgramPath(), "--backend", "gloo"};
  program.insert(program.end(), flags.begin(), flags.end());
  return Finish(LaunchCommand({"--nproc-per-node", absl::StrCat(ranks), "--no-prefix"}, program));
}

// Returns the rows of the table, in columns.
std::vector<std::vector<std::string>> Rows(const std::string& output) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(output, '\n'))) {
    if (absl::StartsWith(line, " ")) {
      rows.push_back(absl::StrSplit(line, ' ', absl::SkipEmpty()));
    }
  }
  return rows;
}

class Collectives : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(Collectives, BringTheRightValues) {
  const auto [collective, ranks] = GetParam();
  const Ended ended = RunRanks(ranks, {"--collective", collective, "-b", "4K", "-e", "64K", "--op",
                                       "average", "--iterations", "3", "--warmup", "1"});
  EXPECT_EQ(ended.exit, kSuccess) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr(absl::StrCat("# ", collective, " on ", ranks, " rank(s)")));
  EXPECT_THAT(ended.output, HasSubstr(", 0 wrong values"));
  const auto rows = Rows(ended.output);
  ASSERT_THAT(rows, SizeIs(3)) << ended.output;  // 4, 16 and 64 KiB
  for (const std::vector<std::string>& row : rows) {
    ASSERT_THAT(row, SizeIs(8)) << ended.output;
    EXPECT_EQ(row[7], "0") << ended.output;
  }
}

INSTANTIATE_TEST_SUITE_P(, Collectives,
                         testing::Combine(testing::Values("all_reduce", "broadcast", "reduce",
                                                          "all_gather", "reduce_scatter"),
                                          testing::Values(1, 3)));
INSTANTIATE_TEST_SUITE_P(Ring, Collectives,
                         testing::Combine(testing::Values("sendrecv"), testing::Values(2, 3)));

TEST(AllReduce, ShowsWhatItMeasures) {
  const Ended ended = RunRanks(2, {"-b", "1M", "-e", "1M", "--type", "int64", "--op", "max"});
  const auto rows = Rows(ended.output);
  ASSERT_THAT(rows, SizeIs(1)) << ended.output;
  EXPECT_EQ(std::vector<std::string>(rows[0].begin(), rows[0].begin() + 4),
            (std::vector<std::string>{"1048576", "131072", "int64", "max"}));
  double time, bandwidth, bus;
  ASSERT_TRUE(absl::SimpleAtod(rows[0][4], &time) && absl::SimpleAtod(rows[0][5], &bandwidth) &&
              absl::SimpleAtod(rows[0][6], &bus));
  // The time is printed in hundredths of a microsecond, and bandwidths in thousandths of a GB/s.
  EXPECT_NEAR(bandwidth, 1048576 / time / 1e3, 0.001 + 0.01 * bandwidth / time);
  EXPECT_NEAR(bus, bandwidth, 0.001);  // 2 (n-1)/n for two ranks
}

TEST(AllReduce, WithoutTheCheckSaysNothingOfValues) {
  const Ended ended = RunRanks(2, {"-b", "4K", "-e", "4K", "--no-check"});
  EXPECT_EQ(ended.exit, kSuccess) << ended.output;
  const auto rows = Rows(ended.output);
  ASSERT_THAT(rows, SizeIs(1)) << ended.output;
  EXPECT_EQ(rows[0][7], "-");
}

TEST(AllReduce, NeedsTwoRanksForARing) {
  const Ended ended = RunRanks(1, {"--collective", "sendrecv"});
  EXPECT_EQ(ended.exit, kFailure);
  EXPECT_THAT(ended.output, HasSubstr("sendrecv needs two ranks or more"));
}

TEST(AllReduce, SaysWhichTypesNeedNccl) {
  const Ended ended = RunRanks(2, {"--type", "bfloat16"});
  EXPECT_EQ(ended.exit, kFailure);
  EXPECT_THAT(ended.output, HasSubstr("--type bfloat16 needs --backend nccl"));
}

TEST(AllReduce, RefusesWhatItCannotMakeSenseOf) {
  const auto expect_refused = [](const std::vector<std::string>& flags, const std::string& what) {
    std::vector<std::string> command = {ProgramPath()};
    command.insert(command.end(), flags.begin(), flags.end());
    const Ended ended = Finish(command);
    EXPECT_EQ(ended.exit, kUsageError) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(what));
  };
  expect_refused({"--op", "mean"}, "'mean' is none of average, max, min, product, sum");
  expect_refused({"--collective", "scan"}, "'scan' is none of all_gather");
  expect_refused({"--type", "float8"}, "'float8' is none of");
  expect_refused({"-b", "4K", "-e", "1K"}, "--max-bytes");
  expect_refused({"-b", "0"}, "--min-bytes");
  expect_refused({"-f", "1"}, "--step-factor");
  expect_refused({"--iterations", "0"}, "--iterations");
}

}  // namespace
}  // namespace allreduce
