// Runs random schedules of a whole job and checks the invariants; see README.md.
#include "tests/simulation/simulation.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/simulation/world/setting.h"

namespace muster::simulation {
namespace {

constexpr uint64_t kSchedules = 3'000;

TEST(SimulationTest, InvariantsHold) {
  uint64_t only = 0;
  const char* seed_variable = std::getenv("MUSTER_TEST_SEED");
  const bool one = seed_variable != nullptr && absl::SimpleAtoi(seed_variable, &only);
  for (uint64_t seed = one ? only : 1; seed <= (one ? only : kSchedules); ++seed) {
    Options options;
    options.seed = seed;
    options.verbose = one;
    const Result result = Simulate(options);
    ASSERT_TRUE(result.violations.empty())
        << absl::StrJoin(result.violations, "\n") << "\nseed " << seed
        << "; replay with --test_env=MUSTER_TEST_SEED=" << seed
        << ", or with tests/simulation:simulate --seed=" << seed;
  }
}

Result SimulateWith(uint64_t seed, bool node_fanin, bool node_commits = false) {
  Options options;
  options.seed = seed;
  options.node_fanin = node_fanin;
  options.node_commits = node_commits;
  return Simulate(options);
}

// Runs schedules twice: the ranks of a node arrive together, or each on its own. The two runs
// differ in the times of all messages, so this compares only results that must not depend on these.
// Until the epoch forms, the two runs are the same. If the daemon dies then, it may form another
// epoch, which has another program.
TEST(SimulationTest, NodeFanInChangesNoResult) {
  int compared = 0;
  uint64_t node_calls = 0;
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    if (!DrawSetting(seed).results_are_fixed()) continue;
    const Result together = SimulateWith(seed, /*node_fanin=*/true);
    const Result alone = SimulateWith(seed, /*node_fanin=*/false);
    if (together.epochs != alone.epochs) continue;
    ASSERT_EQ(together.results, alone.results)
        << "seed " << seed << "; compare tests/simulation:simulate --seed=" << seed
        << " with --node-fanin=1 and =0";
    ASSERT_EQ(alone.node_calls, 0u) << "seed " << seed;
    node_calls += together.node_calls;
    ++compared;
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(node_calls, 1000u);
}

// Runs schedules twice: collectives may complete on the node, or all go through the coordinator.
TEST(SimulationTest, CompletionOnTheNodeChangesNoResult) {
  int compared = 0;
  uint64_t commits = 0;
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    if (!DrawSetting(seed).results_are_fixed()) continue;
    const Result here = SimulateWith(seed, /*node_fanin=*/true, /*node_commits=*/true);
    const Result there = SimulateWith(seed, /*node_fanin=*/true, /*node_commits=*/false);
    if (here.epochs != there.epochs) continue;
    ASSERT_EQ(here.results, there.results)
        << "seed " << seed << "; compare tests/simulation:simulate --node-fanin=1 --seed=" << seed
        << " with --node-commits=1 and =0";
    ASSERT_EQ(there.commits, 0u) << "seed " << seed;
    commits += here.commits;
    ++compared;
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(commits, 400u);
}

}  // namespace
}  // namespace muster::simulation
