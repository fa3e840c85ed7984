// Training while things die: the digits example under a daemon that is killed again and again.

#include <fstream>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fault/scenario.h"

namespace muster::testing {
namespace {

constexpr int kKills = 20;
constexpr int kRanks = 4;
constexpr int kEpochs = 80;  // more than the kills can be spread over
constexpr absl::Duration kPoll = absl::Milliseconds(1);
constexpr absl::Duration kPatience = absl::Minutes(3);

// The digits example on four ranks, without a launcher; rank 0 writes the curve to `json`.
std::vector<std::unique_ptr<Process>> StartDigits(const TestDaemon& daemon,
                                                  const std::string& json) {
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(Process::Start(
        {Runfile("examples/digits/digits"), "--data", Runfile("examples/digits/data/digits.csv.gz"),
         "--epochs", absl::StrCat(kEpochs), "--json", json},
        {{"MUSTER_COORDINATOR", daemon.address()}, {"MUSTER_RANK", absl::StrCat(rank)}}));
  }
  return ranks;
}

void AwaitDigits(const std::vector<std::unique_ptr<Process>>& ranks) {
  for (const auto& rank : ranks) EXPECT_EQ(rank->Wait(kPatience), kSuccess) << rank->Output();
}

// The file of --json, without what says how fast the run was.
std::string CurveOf(const std::string& json) {
  std::ifstream file(json);
  std::string curve;
  for (std::string line; std::getline(file, line);) {
    if (!absl::StrContains(line, "images_per_second")) absl::StrAppend(&curve, line, "\n");
  }
  return curve;
}

int EpochsOf(const Process& rank) { return CountOf(rank.Output(), "epoch "); }

// Waits until rank 0 has gone on by some epochs or has ended.
void AwaitEpochs(Process& rank, int until) {
  while (rank.Running() && EpochsOf(rank) < until) absl::SleepFor(kPoll);
}

std::string UndisturbedCurve() {
  const std::string json = absl::StrCat(MakeTempDir(), "/curve.json");
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  AwaitDigits(StartDigits(*daemon, json));
  return CurveOf(json);
}

TEST(DigitsTest, TheCurveIsTheSameDigitForDigitWhenTheDaemonIsKilled20Times) {
  std::mt19937 random(::testing::UnitTest::GetInstance()->random_seed());
  const std::string json = absl::StrCat(MakeTempDir(), "/curve.json");
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  const auto ranks = StartDigits(*daemon, json);
  for (int kill = 0; kill < kKills; ++kill) {
    // The first ones while the job forms, the others some epochs after the last one: in a random
    // place of them, so that it may be in any call, or in none.
    if (kill > 2) AwaitEpochs(*ranks[0], EpochsOf(*ranks[0]) + 1 + static_cast<int>(random() % 3));
    absl::SleepFor(absl::Microseconds(random() % 30000));
    ASSERT_TRUE(ranks[0]->Running()) << "over after " << kill << " kills:\n" << ranks[0]->Output();
    daemon->Kill();
    daemon->StartAgain();
  }
  AwaitDigits(ranks);
  const std::string undisturbed = UndisturbedCurve();
  EXPECT_NE(undisturbed, "");
  EXPECT_EQ(CurveOf(json), undisturbed);
}

}  // namespace
}  // namespace muster::testing
