// Tests of the suggestions for misspelt commands and flags.
#include "client/cli/flags/hints.h"

#include "gtest/gtest.h"

namespace muster::cli {
namespace {

const std::vector<std::string> kCommands = {"run", "status", "health", "token"};
const std::vector<std::string> kFlags = {"--nproc-per-node", "--nnodes", "--node-rank", "--job",
                                         "--master-port",    "--log-dir"};

TEST(HintsTest, SuggestsTheNearestCommand) {
  EXPECT_EQ(HintForCommand("rn", kCommands), "; did you mean run?");
  EXPECT_EQ(HintForCommand("ru", kCommands), "; did you mean run?");
  EXPECT_EQ(HintForCommand("stauts", kCommands), "; did you mean status?");
  EXPECT_EQ(HintForCommand("start", kCommands), "");
  EXPECT_EQ(HintForCommand("", kCommands), "");
}

TEST(HintsTest, SuggestsDashesForUnderscores) {
  EXPECT_EQ(HintForFlag("--nproc_per_node", kFlags), "; did you mean --nproc-per-node?");
  EXPECT_EQ(HintForFlag("--nproc_per_node=gpu", kFlags), "; did you mean --nproc-per-node?");
  EXPECT_EQ(HintForFlag("--master_port=1", kFlags), "; did you mean --master-port?");
  EXPECT_EQ(HintForFlag("--node-rnak=1", kFlags), "; did you mean --node-rank?");
  EXPECT_EQ(HintForFlag("--frobnicate", kFlags), "");
}

TEST(HintsTest, CompletesThePrefixOfAFlag) {
  EXPECT_EQ(HintForFlag("--nproc", kFlags), "; did you mean --nproc-per-node?");
  EXPECT_EQ(HintForFlag("--nproc=2", kFlags), "; did you mean --nproc-per-node?");
  EXPECT_EQ(HintForFlag("--no", {"--node-id", "--node-rank"}),
            "; did you mean --node-id or --node-rank?");
}

TEST(HintsTest, KnowsTorchrunsFlags) {
  EXPECT_EQ(HintForFlag("--rdzv_id=7", kFlags), "; did you mean --job?");
  EXPECT_EQ(HintForFlag("--rdzv_endpoint=h:1", kFlags),
            "; did you mean --coordinator HOST:PORT, where musterd listens?");
  EXPECT_EQ(HintForFlag("--monitor_interval", kFlags),
            "; leave it out: the launcher learns at once how a rank ends");
  EXPECT_EQ(HintForFlag("-m", kFlags), "; put the program after --: python3 -m MODULE");
}

}  // namespace
}  // namespace muster::cli
