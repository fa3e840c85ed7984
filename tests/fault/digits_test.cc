// Training with failures: the digits example, while its daemon or its ranks are killed.

#include <signal.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

constexpr int kKills = 20;
constexpr int kRanks = 4;
constexpr int kEpochs = 400;  // more than the kills can be spread over
constexpr absl::Duration kPatience = absl::Minutes(3);

Args Digits(const std::string& json) {
  return {Runfile("examples/digits/digits"),
          "--data",
          Runfile("examples/digits/data/digits.csv.gz"),
          "--epochs",
          absl::StrCat(kEpochs),
          "--json",
          json};
}

// Starts the digits example on four ranks without a launcher. Rank 0 writes the curve to `json`.
// Each rank asks for its rank unless the job is elastic.
std::vector<std::unique_ptr<Process>> StartDigits(const TestDaemon& daemon, const std::string& json,
                                                  bool elastic = false) {
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    std::map<std::string, std::string> env = {{"MUSTER_COORDINATOR", daemon.address()}};
    if (!elastic) env["MUSTER_RANK"] = absl::StrCat(rank);
    ranks.push_back(Process::Start(Digits(json), env));
  }
  return ranks;
}

void AwaitDigits(const std::vector<std::unique_ptr<Process>>& ranks) {
  for (const auto& rank : ranks) EXPECT_EQ(rank->Wait(kPatience), kSuccess) << rank->Output();
}

// Returns the file of --json, without the fields about the speed of the run.
std::string CurveOf(const std::string& json) {
  std::ifstream file(json);
  std::string curve;
  for (std::string line; std::getline(file, line);) {
    if (!absl::StrContains(line, "images_per_second")) absl::StrAppend(&curve, line, "\n");
  }
  return curve;
}

int EpochsOf(const Process& rank) { return CountOf(rank.Output(), "epoch "); }

// Waits until rank 0 has reached this epoch, or has ended.
void AwaitEpochs(Process& rank, int until) {
  EXPECT_TRUE(WaitUntil([&] { return EpochsOf(rank) >= until || !rank.Running(); }, kPatience));
}

std::string UndisturbedCurve() {
  const std::string json = absl::StrCat(MakeTempDir(), "/curve.json");
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  AwaitDigits(StartDigits(*daemon, json));
  return CurveOf(json);
}

TEST(DigitsTest, TwentyDaemonKillsDoNotChangeTheLossCurve) {
  std::mt19937 random(::testing::UnitTest::GetInstance()->random_seed());
  const std::string json = absl::StrCat(MakeTempDir(), "/curve.json");
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  const auto ranks = StartDigits(*daemon, json);
  for (int kill = 0; kill < kKills; ++kill) {
    // The first kills come while the job forms. The others come some epochs after the last one, at
    // a random time, so that the ranks may be in any call or in none.
    if (kill > 2) AwaitEpochs(*ranks[0], EpochsOf(*ranks[0]) + 1 + static_cast<int>(random() % 3));
    absl::SleepFor(absl::Microseconds(random() % 30000));
    ASSERT_TRUE(ranks[0]->Running()) << "over after " << kill << " kills:\n" << ranks[0]->Output();
    daemon->Kill();
    daemon->Restart();
  }
  AwaitDigits(ranks);
  const std::string undisturbed = UndisturbedCurve();
  EXPECT_NE(undisturbed, "");
  EXPECT_EQ(CurveOf(json), undisturbed);
}

// The last line of a run: "final loss=0.0736946376189 accuracy=0.963788300836".
struct Final {
  double loss = 0;
  double accuracy = 0;
};

Final FinalOf(const std::string& output) {
  Final result;
  const size_t at = output.find("final loss=");
  if (at == std::string::npos || std::sscanf(output.c_str() + at, "final loss=%lf accuracy=%lf",
                                             &result.loss, &result.accuracy) != 2) {
    ADD_FAILURE() << "no result in " << output;
  }
  return result;
}

// Expects equal results, except for rounding: the order of floating-point additions depends on the
// number of ranks.
void ExpectSame(const Final& result, const Final& expected) {
  EXPECT_NEAR(result.loss, expected.loss, 1e-4 * expected.loss);
  EXPECT_NEAR(result.accuracy, expected.accuracy, 0.003);  // one held-out image
}

Final UndisturbedFinal() {
  auto alone = Process::Start(Digits(absl::StrCat(MakeTempDir(), "/curve.json")));
  EXPECT_EQ(alone->Wait(kPatience), kSuccess) << alone->Output();
  return FinalOf(alone->Output());
}

pid_t PidOfRank(uint32_t rank, const TestDaemon& daemon) {
  const v1::GetStatusResponse job = StatusReader(daemon.address()).Get();
  for (const v1::MemberStatus& member : job.members()) {
    if (member.has_rank() && member.rank() == rank)
      return static_cast<pid_t>(member.member().pid());
  }
  ADD_FAILURE() << "no rank " << rank;
  return 0;
}

TEST(ElasticDigitsTest, RestartedRankReachesTheSameAccuracy) {
  const auto daemon = TestDaemon::Start({"--world-size=4", "--min-world-size=2", "--settle=1h"});
  auto run = Process::Start(
      LaunchCommand({"--coordinator", daemon->address(), "--nproc-per-node=4", "--max-restarts=1"},
                    Digits(absl::StrCat(MakeTempDir(), "/curve.json"))));
  AwaitEpochs(*run, 3);
  const pid_t third = PidOfRank(2, *daemon);
  ASSERT_GT(third, 0);
  kill(third, SIGKILL);
  EXPECT_EQ(run->Wait(kPatience), kSuccess) << run->Output();
  EXPECT_THAT(run->Output(), ::testing::HasSubstr("(restart 1 of at most 1)"));
  ExpectSame(FinalOf(run->Output()), UndisturbedFinal());
}

TEST(ElasticDigitsTest, SurvivorsOfRankZeroReachTheSameAccuracy) {
  const auto daemon = TestDaemon::Start(
      {"--world-size=4", "--min-world-size=2", "--settle=2s", "--member-grace=100ms"});
  auto ranks = StartDigits(*daemon, absl::StrCat(MakeTempDir(), "/curve.json"), /*elastic=*/true);
  ASSERT_TRUE(StatusReader(daemon->address()).WaitForState(v1::JOB_STATE_RUNNING));
  const pid_t first = PidOfRank(0, *daemon);
  std::string output;
  for (auto& rank : ranks) {
    if (rank->pid() != first) continue;
    AwaitEpochs(*rank, 3);
    rank->Signal(SIGKILL);
  }
  for (auto& rank : ranks) {
    const Exit killed = {true, SIGKILL};
    EXPECT_EQ(rank->Wait(kPatience), rank->pid() == first ? killed : kSuccess) << rank->Output();
    if (rank->pid() != first) output += rank->Output();
  }
  ExpectSame(FinalOf(output), UndisturbedFinal());
}

// No process reports the death of the rank. The next daemon waits for the rank until the recovery
// ends.
TEST(ElasticDigitsTest, RankAndDaemonKilledTogetherCountAsALostRank) {
  const auto daemon = TestDaemon::Start({"--world-size=4", "--min-world-size=2", "--settle=2s",
                                         "--member-grace=100ms", "--keepalive-time=1s",
                                         "--keepalive-timeout=3s", "--recovery-grace=6s"});
  auto ranks = StartDigits(*daemon, absl::StrCat(MakeTempDir(), "/curve.json"), /*elastic=*/true);
  ASSERT_TRUE(StatusReader(daemon->address()).WaitForState(v1::JOB_STATE_RUNNING));
  const pid_t first = PidOfRank(0, *daemon);
  const pid_t third = PidOfRank(2, *daemon);
  ASSERT_GT(third, 0);
  for (auto& rank : ranks) {
    if (rank->pid() == first) AwaitEpochs(*rank, 3);
  }
  kill(third, SIGKILL);
  daemon->Kill();
  daemon->Restart();
  std::string output;
  for (auto& rank : ranks) {
    const Exit killed = {true, SIGKILL};
    EXPECT_EQ(rank->Wait(kPatience), rank->pid() == third ? killed : kSuccess) << rank->Output();
    if (rank->pid() == first) output = rank->Output();
  }
  ExpectSame(FinalOf(output), UndisturbedFinal());
}

}  // namespace
}  // namespace muster::testing
