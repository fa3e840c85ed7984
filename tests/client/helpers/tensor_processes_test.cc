// Tests of muster/tensor_collectives.h in real processes over Gloo, two on each node.

#include <signal.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Starts one node of a job of `nodes` nodes.
std::unique_ptr<Process> LaunchNode(const TestDaemon& daemon, int node, int nodes, int ranks,
                                    const Args& steps) {
  return LaunchAt(daemon, ranks, steps,
                  {absl::StrCat("--nnodes=", nodes), absl::StrCat("--node-rank=", node),
                   absl::StrCat("--node-id=node", node)});
}

std::vector<std::unique_ptr<Process>> LaunchNodes(const TestDaemon& daemon, int ranks,
                                                  const Args& steps) {
  std::vector<std::unique_ptr<Process>> nodes;
  const int count = (ranks + 1) / 2;
  for (int node = 0; node < count; ++node) {
    nodes.push_back(LaunchNode(daemon, node, count, ranks / count, steps));
  }
  return nodes;
}

class TensorProcessesTest : public ::testing::TestWithParam<int> {
 protected:
  const std::unique_ptr<TestDaemon> daemon_ =
      TestDaemon::Start({absl::StrCat("--world-size=", GetParam()), "--member-grace=1h"});
};

TEST_P(TensorProcessesTest, ReduceGatherAndAverage) {
  ExpectExits(LaunchNodes(*daemon_, GetParam(), {"tensors", "tensors", "leave"}), kSuccess);
}

class SeveralProcessesTest : public TensorProcessesTest {};

TEST_P(SeveralProcessesTest, DifferencesAreRefusedOnAllRanks) {
  ExpectExits(LaunchNodes(*daemon_, GetParam(), {"disagree", "tensors", "leave"}), kSuccess);
}

INSTANTIATE_TEST_SUITE_P(Ranks, TensorProcessesTest, ::testing::Values(1, 2, 4));
INSTANTIATE_TEST_SUITE_P(Ranks, SeveralProcessesTest, ::testing::Values(2, 4));

TEST(TensorProcessesSerialTest, WithoutACoordinatorTheSameStepsWork) {
  auto rank = Process::Start(RankCommand({"tensors", "leave"}));
  EXPECT_EQ(rank->Wait(), kSuccess) << rank->Output();
}

class KilledInTheMiddleTest : public ::testing::TestWithParam<const char*> {};

TEST_P(KilledInTheMiddleTest, EverySurvivorGetsTheErrorThatNamesTheRank) {
  auto daemon = TestDaemon::Start({"--world-size=4", "--member-grace=1h"});
  auto nodes = LaunchNodes(*daemon, 4, {"tensors", absl::StrCat(GetParam(), "=3")});
  int errors = 0;
  for (auto& node : nodes) {
    node->Wait(absl::Seconds(120));
    const std::string output = node->Output();
    errors += CountOf(output, "error: ABORTED");
    EXPECT_THAT(SentenceAbout(3, output),
                AllOf(HasSubstr("(node 'node1', host "), HasSubstr("killed by signal 9 (SIGKILL)")))
        << output;
  }
  EXPECT_EQ(errors, 3) << nodes[0]->Output() << nodes[1]->Output();
}

INSTANTIATE_TEST_SUITE_P(Calls, KilledInTheMiddleTest,
                         ::testing::Values("killed-in-all-reduce", "killed-in-average"));

}  // namespace
}  // namespace muster::testing
