// Tests of the fine-tuning example: it learns the same on any number of ranks, and names a lost
// rank.

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kPerNode = 2;

std::vector<std::string> Finetune(const std::string& workspace,
                                  const std::vector<std::string>& flags = {}) {
  std::vector<std::string> command = {Runfile("examples/finetune/finetune"), "--data",
                                      Runfile("examples/digits/data/digits.csv.gz"), "--workspace",
                                      workspace};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

std::string RunAlone(const std::vector<std::string>& command) {
  const auto process = Process::Start(command);
  EXPECT_EQ(process->Wait(), kSuccess);
  return process->Output();
}

struct Epoch {
  double loss = 0;
  double accuracy = 0;
};

// Returns what rank 0 has logged. Epoch 0 is the network before training.
std::vector<Epoch> EpochsOf(const std::string& output) {
  std::vector<Epoch> epochs;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(output, '\n'))) {
    int number = 0;
    Epoch epoch;
    if (std::sscanf(line.c_str(), "[rank: 0] epoch %d loss %lf accuracy %lf", &number, &epoch.loss,
                    &epoch.accuracy) == 3) {
      EXPECT_EQ(number, epochs.size());
      epochs.push_back(epoch);
    }
  }
  return epochs;
}

TEST(FinetuneTest, LearnsTheDigitsThatThePretrainedNetworkDoesNotKnow) {
  const std::string output = RunAlone(Finetune(MakeTempDir()));
  const std::vector<Epoch> epochs = EpochsOf(output);
  ASSERT_THAT(epochs, SizeIs(21));
  EXPECT_LT(epochs.front().accuracy, 0.55) << "half of the digits are new";
  EXPECT_GT(epochs.back().accuracy, 0.93);
  EXPECT_LT(epochs.back().loss, epochs.front().loss / 10);
  EXPECT_THAT(output, HasSubstr("best accuracy=0.9"));
}

class FinetuneRanksTest : public ::testing::TestWithParam<int> {};

TEST_P(FinetuneRanksTest, ComeToTheSameAsOneProcess) {
  const std::vector<Epoch> alone = EpochsOf(RunAlone(Finetune(MakeTempDir())));
  const std::string workspace = MakeTempDir() + "/shared";
  const Ranks ranks(GetParam(), kPerNode, Finetune(workspace));
  ASSERT_THAT(ranks.exits(), Each(kSuccess)) << ranks.output(0);
  const std::vector<Epoch> together = EpochsOf(ranks.output(0));
  ASSERT_EQ(together.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_NEAR(together[i].loss, alone[i].loss, 1e-6) << "epoch " << i;
    EXPECT_EQ(together[i].accuracy, alone[i].accuracy) << "epoch " << i;
  }
  // Only rank 0 reports. Each node has unpacked the data for itself.
  for (int rank = 1; rank < ranks.size(); ++rank) {
    EXPECT_THAT(ranks.output(rank),
                AllOf(HasSubstr(absl::StrCat("[rank: ", rank, "] local rank ", rank % kPerNode)),
                      HasSubstr("knows 0,1,2,3,4"), Not(HasSubstr("epoch"))));
  }
  EXPECT_TRUE(std::filesystem::exists(
      absl::StrCat(workspace, "/node-", (GetParam() - 1) / kPerNode, "/digits.csv")));
}

INSTANTIATE_TEST_SUITE_P(Ranks, FinetuneRanksTest, ::testing::Values(1, 2, 4));

TEST(FinetuneTest, GoesOnFromANetworkThatItFinds) {
  const std::string workspace = MakeTempDir();
  const std::vector<Epoch> first = EpochsOf(RunAlone(Finetune(workspace)));
  std::filesystem::remove_all(workspace + "/pretrained");
  std::filesystem::rename(workspace + "/best", workspace + "/pretrained");
  const std::string output = RunAlone(Finetune(workspace, {"--epochs", "0"}));
  EXPECT_THAT(output, HasSubstr("knows 0,1,2,3,4,5,6,7,8,9"));
  ASSERT_THAT(EpochsOf(output), SizeIs(1));
  EXPECT_GT(EpochsOf(output)[0].accuracy, 0.93);
}

TEST(FinetuneTest, DoesNotTakeTheDataOfAnEarlierRunForWhatItIsTold) {
  const std::string workspace = MakeTempDir();
  RunAlone(Finetune(workspace, {"--epochs", "0"}));
  const auto process = Process::Start({Runfile("examples/finetune/finetune"), "--workspace",
                                       workspace, "--data", "/nonexistent.csv.gz"});
  EXPECT_EQ(process->Wait(), (Exit{false, 1}));
  EXPECT_THAT(process->Output(), HasSubstr("/nonexistent.csv.gz"));
}

TEST(FinetuneTest, SurvivorsNameARankThatIsKilled) {
  const Ranks ranks(4, kPerNode, Finetune(MakeTempDir(), {"--epochs", "1000000"}));
  ASSERT_TRUE(ranks[0].WaitForOutput("epoch  1"));
  ranks[3].Signal(SIGKILL);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks.exit(rank), (Exit{false, 75}));
    EXPECT_THAT(ranks.output(rank),
                HasSubstr(absl::StrCat("pid ", ranks[3].pid(), ") was lost at ")));
  }
}

TEST(FinetuneTest, SurvivorsOfAnElasticJobComeToTheSame) {
  const auto daemon = TestDaemon::Start(
      {"--world-size=3", "--min-world-size=2", "--settle=3s", "--member-grace=100ms"});
  const std::string workspace = MakeTempDir();
  std::vector<std::unique_ptr<Process>> ranks;
  for (int i = 0; i < 3; ++i) {
    ranks.push_back(Process::Start(Finetune(workspace, {"--epochs", "60"}),
                                   {{"MUSTER_COORDINATOR", daemon->address()}}));
  }
  const auto reports = [](const std::unique_ptr<Process>& rank) {
    return absl::StrContains(rank->Output(), "epoch  3");
  };
  ASSERT_TRUE(WaitUntil([&] { return std::any_of(ranks.begin(), ranks.end(), reports); }));
  auto& lost = *std::find_if_not(ranks.begin(), ranks.end(), reports);
  lost->Signal(SIGKILL);
  lost->Wait();
  ranks.erase(ranks.begin() + (&lost - &ranks.front()));
  std::string output;
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank->Wait(absl::Minutes(3)), kSuccess) << rank->Output();
    if (reports(rank)) output = rank->Output();
  }
  const std::vector<Epoch> alone = EpochsOf(RunAlone(Finetune(MakeTempDir(), {"--epochs", "60"})));
  const std::vector<Epoch> together = EpochsOf(output);
  ASSERT_EQ(together.size(), alone.size());
  EXPECT_NEAR(together.back().loss, alone.back().loss, 1e-6);
  EXPECT_EQ(together.back().accuracy, alone.back().accuracy);
}

TEST(FinetuneTest, AMissingFileIsNamedToAllOfTheNodeWithTheRankThatMissedIt) {
  const std::string workspace = MakeTempDir();
  std::vector<std::string> command = Finetune(workspace);
  command[2] = "/nonexistent.gz";
  const Ranks ranks(2, kPerNode, command);
  EXPECT_THAT(ranks.exits(), Each(Exit{false, 1}));
  EXPECT_THAT(ranks.output(0), HasSubstr("finetune: rank 0 (node 'node-0', pid "));
  EXPECT_THAT(ranks.output(0), HasSubstr("cannot open /nonexistent.gz"));
}

TEST(FinetuneTest, TellsItsFlagsAndRefusesOthers) {
  const auto help = Process::Start({Runfile("examples/finetune/finetune"), "--help"});
  EXPECT_EQ(help->Wait(), kSuccess);
  EXPECT_THAT(help->Output(), AllOf(HasSubstr("--workspace"), HasSubstr("--epochs")));
  const auto wrong = Process::Start({Runfile("examples/finetune/finetune"), "--epochs", "few"});
  EXPECT_EQ(wrong->Wait(), (Exit{false, 64}));
}

}  // namespace
}  // namespace muster::testing
