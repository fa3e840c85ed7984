// Tests of which CPUs each rank gets, on machines that hwloc makes up.
#include "client/launcher/binding/binding_plan.h"

#include <algorithm>
#include <numeric>

#include "client/launcher/binding/hwloc_cores.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Cpus Range(int first, int last) {
  Cpus cpus(static_cast<size_t>(last - first + 1));
  std::iota(cpus.begin(), cpus.end(), first);
  return cpus;
}

// Two NUMA nodes with 8 cores each, and two hardware threads in each core: core 0 has CPUs 0 and 1,
// and the second node begins with CPU 16.
NodeLayout TwoNodes(const Cpus& usable = Range(0, 31)) {
  const absl::StatusOr<NodeLayout> layout = ReadCores(usable, "numa:2 core:8 pu:2");
  EXPECT_TRUE(layout.ok()) << layout.status();
  return layout.ok() ? *layout : NodeLayout();
}

std::vector<Cpus> ToCores(const NodeLayout& layout, int ranks) {
  const absl::StatusOr<std::vector<Cpus>> cpus = BindToCores(layout, ranks, 0);
  EXPECT_TRUE(cpus.ok()) << cpus.status();
  return cpus.ok() ? *cpus : std::vector<Cpus>();
}

TEST(BindToCoresTest, SpreadsRanksAndGivesAllThreadsOfACore) {
  EXPECT_THAT(ToCores(TwoNodes(), 1), ElementsAre(Cpus{0, 1}));
  EXPECT_THAT(ToCores(TwoNodes(), 2), ElementsAre(Cpus{0, 1}, Cpus{16, 17}));
  EXPECT_THAT(ToCores(TwoNodes(), 4),
              ElementsAre(Cpus{0, 1}, Cpus{8, 9}, Cpus{16, 17}, Cpus{24, 25}));
}

TEST(BindToCoresTest, GivesNoCoreTwice) {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    std::vector<Cpus> cpus = ToCores(TwoNodes(), ranks);
    std::sort(cpus.begin(), cpus.end());
    EXPECT_EQ(std::unique(cpus.begin(), cpus.end()), cpus.end()) << ranks;
  }
}

TEST(BindToCoresTest, UsesOnlyTheCpusOfTheContainer) {
  // One hardware thread of core 5, and both of core 6.
  const NodeLayout layout = TwoNodes({11, 12, 13});
  EXPECT_THAT(ToCores(layout, 2), ElementsAre(Cpus{11}, Cpus{12, 13}));
}

TEST(BindToCoresTest, RefusesMoreRanksThanCores) {
  const absl::Status status = BindToCores(TwoNodes({10, 11, 12, 13}), 4, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      status.message(),
      "--bind-to is 'core', and this node has 2 cores for 4 ranks; start fewer ranks, or give "
      "--bind-to=numa or none");
  EXPECT_THAT(BindToCores(TwoNodes({10}), 2, 0).status().message(), HasSubstr("has 1 core for 2"));
}

TEST(BindToCoresTest, SaysWhenOtherRunsHaveTheCores) {
  const absl::Status status = BindToCores(TwoNodes({10, 12}), 3, 14).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("2 cores that no other muster run of yours is bound to for 3 ranks"));
}

TEST(BindToCoresTest, TakesCoresNearTheGpu) {
  NodeLayout layout = TwoNodes();
  layout.gpus = {Range(16, 31), Range(16, 31), Range(0, 15), Range(0, 15)};
  EXPECT_THAT(ToCores(layout, 4), ElementsAre(Cpus{16, 17}, Cpus{24, 25}, Cpus{0, 1}, Cpus{8, 9}));
}

TEST(BindToCoresTest, SharesGpusInTurn) {
  NodeLayout layout = TwoNodes();
  layout.gpus = {Range(16, 31), Range(0, 15)};
  EXPECT_THAT(ToCores(layout, 4), ElementsAre(Cpus{16, 17}, Cpus{0, 1}, Cpus{24, 25}, Cpus{8, 9}));
}

TEST(BindToCoresTest, TakesFarCoresWhenTheNearOnesAreGone) {
  NodeLayout layout = TwoNodes();
  layout.gpus = {Range(0, 3), Range(0, 3), Range(0, 3)};  // two cores
  EXPECT_THAT(ToCores(layout, 3), ElementsAre(Cpus{0, 1}, Cpus{2, 3}, Cpus{4, 5}));
}

TEST(BindToCoresTest, RanksWithTheLeastChoiceAreFirst) {
  NodeLayout layout = TwoNodes({0, 1, 2, 3});
  layout.gpus = {Range(0, 3), Range(0, 1)};
  EXPECT_THAT(ToCores(layout, 2), ElementsAre(Cpus{2, 3}, Cpus{0, 1}));
}

TEST(BindToCoresTest, IgnoresAGpuWhoseCpusMayNotBeUsed) {
  NodeLayout layout = TwoNodes({0, 1, 2, 3});
  layout.gpus = {Range(16, 31), {}};
  EXPECT_THAT(ToCores(layout, 2), ElementsAre(Cpus{0, 1}, Cpus{2, 3}));
}

TEST(BindToNumaNodesTest, DividesTheRanks) {
  EXPECT_THAT(BindToNumaNodes(TwoNodes(), 4),
              ElementsAre(Range(0, 15), Range(0, 15), Range(16, 31), Range(16, 31)));
  EXPECT_THAT(BindToNumaNodes(TwoNodes(), 2), ElementsAre(Range(0, 15), Range(16, 31)));
}

TEST(BindToNumaNodesTest, TakesMoreRanksThanCores) {
  EXPECT_THAT(BindToNumaNodes(TwoNodes({3, 20}), 4),
              ElementsAre(Cpus{3}, Cpus{3}, Cpus{20}, Cpus{20}));
}

TEST(BindToNumaNodesTest, TakesTheNodeOfTheGpu) {
  NodeLayout layout = TwoNodes();
  layout.gpus = {Range(16, 31), Range(0, 15)};
  EXPECT_THAT(BindToNumaNodes(layout, 3), ElementsAre(Range(16, 31), Range(0, 15), Range(16, 31)));
}

TEST(DescribeBindingTest, JoinsRanksWithTheSameCpus) {
  EXPECT_EQ(DescribeBinding({{0, 1}, {8}}, 4), "rank 4 to CPUs 0-1; rank 5 to CPU 8");
  EXPECT_EQ(DescribeBinding({Range(0, 7), Range(0, 7), Range(8, 15)}, 0),
            "ranks 0-1 to CPUs 0-7; rank 2 to CPUs 8-15");
}

TEST(DescribeBindingTest, IsShortWithManyRanks) {
  std::vector<Cpus> cpus;
  for (int i = 0; i < 200; ++i) cpus.push_back({i});
  EXPECT_THAT(DescribeBinding(cpus, 0), HasSubstr("rank 15 to CPU 15; ..."));
}

}  // namespace
}  // namespace muster::launcher
