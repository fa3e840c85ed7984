// Node fan-in while ranks are stopped or killed at any instruction. The ranks check the values
// themselves.

#include <signal.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kRanks = 4;
constexpr int kTimes = 6;

// The ranks make all-gathers until rank 0 gets SIGTERM.
Args Program() { return RankCommand({"run-until-stopped", "leave"}); }

class NodeFanInFaultTest : public ::testing::Test {
 protected:
  // Starts two nodes of two ranks.
  void Start(const Variables& env = {}, const std::map<int, Variables>& env_by_rank = {}) {
    ranks_ = std::make_unique<Ranks>(kRanks, 2, Program(), env, env_by_rank);
    status_ = std::make_unique<StatusReader>(ranks_->daemon().address());
  }

  // Waits until the ranks of both nodes have arrived together.
  bool AwaitFanIn() {
    return status_->WaitFor([](const v1::GetStatusResponse& status) {
      return status.node_collective_nodes_size() == 2;
    });
  }

  void ExpectGoodEnd() {
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE((*ranks_)[rank].WaitForOutput("is on its way"));
    }
    (*ranks_)[0].Signal(SIGTERM);
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(ranks_->exit(rank), kSuccess) << ranks_->output(rank);
    }
  }

  std::unique_ptr<Ranks> ranks_;
  std::unique_ptr<StatusReader> status_;
  std::mt19937 random_{std::random_device()()};
};

TEST_F(NodeFanInFaultTest, StatusNamesTheNodesThatUseIt) {
  Start();
  ASSERT_TRUE(AwaitFanIn());
  EXPECT_THAT(status_->Get().node_collective_nodes(), ElementsAre("node-0", "node-1"));
  ExpectGoodEnd();
}

TEST_F(NodeFanInFaultTest, CanBeSwitchedOff) {
  Start({{"MUSTER_NODE_FANIN", "0"}});
  ASSERT_TRUE((*ranks_)[0].WaitForOutput("is on its way"));
  EXPECT_THAT(status_->Get().node_collective_nodes(), IsEmpty());
  ExpectGoodEnd();
}

// As where containers of one node do not share /dev/shm.
TEST_F(NodeFanInFaultTest, NodeWithoutSharedMemoryWorksWithoutIt) {
  Start({}, {{2, {{"MUSTER_NODE_FANIN", "0"}}}});
  ASSERT_TRUE(status_->WaitFor(
      [](const v1::GetStatusResponse& status) { return status.node_collective_nodes_size() > 0; }));
  ASSERT_TRUE((*ranks_)[0].WaitForOutput("is on its way"));
  EXPECT_THAT(status_->Get().node_collective_nodes(), ElementsAre("node-0"));
  ExpectGoodEnd();
}

// The stopped rank may be about to send for others, may have been sent by another, or neither.
TEST_F(NodeFanInFaultTest, OnlyTheStoppedRankIsMissing) {
  Start();
  ASSERT_TRUE(AwaitFanIn());
  for (int i = 0; i < kTimes; ++i) {
    const uint32_t stopped = random_() % kRanks;
    (*ranks_)[stopped].Signal(SIGSTOP);
    EXPECT_TRUE(status_->WaitFor([&](const v1::GetStatusResponse& status) {
      if (status.pending_collectives_size() != 1) return false;
      const v1::PendingCollective& pending = status.pending_collectives(0);
      return pending.arrived_ranks_size() == kRanks - 1 && pending.missing_ranks_size() == 1 &&
             pending.missing_ranks(0) == stopped;
    }));
    (*ranks_)[stopped].Signal(SIGCONT);
  }
  ExpectGoodEnd();
}

TEST_F(NodeFanInFaultTest, EverySurvivorNamesTheKilledRank) {
  for (int i = 0; i < kTimes; ++i) {
    Start();
    ASSERT_TRUE(AwaitFanIn());
    const int killed = static_cast<int>(random_() % kRanks);
    const pid_t pid = (*ranks_)[killed].pid();
    (*ranks_)[killed].Signal(SIGKILL);
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == killed) continue;
      EXPECT_EQ(ranks_->exit(rank), kRankError);
      EXPECT_THAT(ranks_->output(rank),
                  AllOf(HasSubstr("error: ABORTED"), HasSubstr(absl::StrCat("rank ", killed, " ")),
                        HasSubstr(absl::StrCat("pid ", pid, ")"))));
    }
  }
}

TEST_F(NodeFanInFaultTest, SurvivesDaemonKills) {
  Start();
  ASSERT_TRUE(AwaitFanIn());
  for (int i = 0; i < kTimes; ++i) {
    ranks_->daemon().Kill();
    ranks_->daemon().Restart();
    status_ = std::make_unique<StatusReader>(ranks_->daemon().address());
    EXPECT_TRUE(AwaitFanIn()) << "the ranks of a node arrive together again";
  }
  ExpectGoodEnd();
}

}  // namespace
}  // namespace muster::testing
