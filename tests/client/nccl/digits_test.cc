// The digits example on NCCL learns what it learns on Gloo.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/daemon.h"
#include "tests/util/process.h"

namespace muster::testing {
namespace {

constexpr int kRanks = 2;

// What rank 0 of a run prints.
std::string OutputWith(const std::string& backend) {
  auto daemon = TestDaemon::Start();
  const std::vector<std::string> command = {
      Runfile("tests/client/nccl/digits_on_fakes"), "--epochs", "4", "--backend", backend, "--data",
      Runfile("examples/digits/data/digits.csv.gz")};
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(Process::Start(command, {{"MUSTER_COORDINATOR", daemon->address()},
                                             {"MUSTER_WORLD_SIZE", absl::StrCat(kRanks)},
                                             {"MUSTER_RANK", absl::StrCat(rank)}}));
  }
  for (const auto& rank : ranks) EXPECT_EQ(rank->Wait(), (Exit{false, 0})) << rank->Output();
  return ranks[0]->Output();
}

// The lines with losses, without the speed at their end.
std::vector<std::string> LinesWithLosses(const std::string& output) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!absl::StrContains(line, "loss")) continue;
    if (absl::EndsWith(line, " images/s")) line = line.substr(0, line.rfind("  "));
    lines.emplace_back(line);
  }
  return lines;
}

// With two ranks both add the same two numbers, so that not a digit differs.
TEST(NcclDigits, LearnsWhatGlooLearns) {
  const std::string nccl = OutputWith("nccl");
  EXPECT_THAT(nccl, ::testing::HasSubstr("nccl"));
  const std::vector<std::string> losses = LinesWithLosses(nccl);
  EXPECT_GE(losses.size(), 4);
  EXPECT_EQ(losses, LinesWithLosses(OutputWith("gloo")));
}

}  // namespace
}  // namespace muster::testing
