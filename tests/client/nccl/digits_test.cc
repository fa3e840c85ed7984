// Tests that the digits example learns the same on NCCL as on Gloo.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/libraries.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

constexpr int kRanks = 2;

// Runs the example, and returns the output of rank 0.
std::string OutputWith(const std::string& backend) {
  const Args command = {Runfile(absl::StrCat("tests/client/nccl/digits_on_",
                                             NcclUnderTest().empty() ? "fakes" : "nccl")),
                        "--epochs",
                        "4",
                        "--backend",
                        backend,
                        "--data",
                        Runfile("examples/digits/data/digits.csv.gz")};
  const Ranks ranks(kRanks, kRanks, command, NcclVariables());
  EXPECT_THAT(ranks.exits(), ::testing::Each(kSuccess)) << ranks.output(0);
  return ranks.output(0);
}

// Returns the lines with losses, without the speed at their end.
std::vector<std::string> LinesWithLosses(const std::string& output) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!absl::StrContains(line, "loss")) continue;
    if (absl::EndsWith(line, " images/s")) line = line.substr(0, line.rfind("  "));
    lines.emplace_back(line);
  }
  return lines;
}

// With two ranks, both backends add the same two numbers, so every digit is equal.
TEST(NcclDigits, LearnsTheSameAsGloo) {
  const std::string nccl = OutputWith("nccl");
  EXPECT_THAT(nccl, ::testing::HasSubstr("nccl"));
  const std::vector<std::string> losses = LinesWithLosses(nccl);
  EXPECT_GE(losses.size(), 4);
  EXPECT_EQ(losses, LinesWithLosses(OutputWith("gloo")));
}

}  // namespace
}  // namespace muster::testing
