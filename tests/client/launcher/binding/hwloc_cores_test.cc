// Tests of what hwloc says of machines.
#include "client/launcher/binding/hwloc_cores.h"

#include <unistd.h>

#include <algorithm>

#include "common/process/cpu_affinity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(ReadCoresTest, LeavesOutNumaNodesWithoutUsableCpus) {
  const absl::StatusOr<NodeLayout> layout = ReadCores({20, 21, 22}, "numa:2 core:8 pu:2");
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_THAT(layout->numa_nodes, ElementsAre(Cpus{20, 21, 22}));
  ASSERT_THAT(layout->cores, SizeIs(2));
  EXPECT_EQ(layout->cores[0].cpus, (Cpus{20, 21}));
  EXPECT_EQ(layout->cores[1].cpus, (Cpus{22}));
  EXPECT_EQ(layout->cores[1].numa, 0);
}

TEST(ReadCoresTest, KnowsTheNumaNodeOfACore) {
  const absl::StatusOr<NodeLayout> layout = ReadCores({0, 1, 2, 3}, "numa:2 core:2 pu:1");
  ASSERT_TRUE(layout.ok()) << layout.status();
  ASSERT_THAT(layout->cores, SizeIs(4));
  EXPECT_EQ(layout->cores[1].numa, 0);
  EXPECT_EQ(layout->cores[2].numa, 1);
}

// Memory of the package beside that of its halves, as with HBM.
TEST(ReadCoresTest, TakesTheSmallestNumaNodeOfACore) {
  const absl::StatusOr<NodeLayout> layout =
      ReadCores({0, 1, 2, 3}, "package:1 [numa] group:2 [numa] core:2 pu:1");
  ASSERT_TRUE(layout.ok()) << layout.status();
  ASSERT_THAT(layout->cores, SizeIs(4));
  const auto node_of = [&](size_t core) {
    return layout->numa_nodes[static_cast<size_t>(layout->cores[core].numa)];
  };
  EXPECT_EQ(node_of(0), (Cpus{0, 1}));
  EXPECT_EQ(node_of(3), (Cpus{2, 3}));
}

TEST(ReadCoresTest, RefusesToFindNoCpu) {
  EXPECT_EQ(ReadCores({99}, "core:2 pu:1").status().code(), absl::StatusCode::kUnavailable);
}

TEST(ReadCoresTest, FindsEachCpuOfThisProcessOnce) {
  const Cpus usable = CpusOf(getpid());
  const absl::StatusOr<NodeLayout> layout = ReadCores(usable);
  ASSERT_TRUE(layout.ok()) << layout.status();
  Cpus found;
  for (const Core& core : layout->cores) {
    found.insert(found.end(), core.cpus.begin(), core.cpus.end());
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, usable);
}

}  // namespace
}  // namespace muster::launcher
