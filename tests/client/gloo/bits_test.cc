// Tests the order of sums. Sums of floats depend on the order of their terms, and that order may
// depend only on the layout of the ranks on the nodes.

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/client/gloo/communicators.h"

namespace muster {
namespace {

using ::muster::testing::CommunicatorsTest;
using ::muster::testing::Layout;
using ::muster::testing::Layouts;
using ::muster::testing::NameOfLayoutParam;
using ::muster::testing::SharesMemory;

float ValueOf(int rank, size_t i) { return 1.0f / static_cast<float>(3 + i + rank); }

std::vector<float> ValuesOf(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = ValueOf(rank, i);
  return values;
}

void Add(const std::vector<float>& terms, std::vector<float>* sum) {
  if (sum->empty()) {
    *sum = terms;
    return;
  }
  for (size_t i = 0; i < terms.size(); ++i) (*sum)[i] += terms[i];
}

// Returns the expected sum. It adds the ranks of each node in their order, and then the nodes in
// the order of their first ranks.
std::vector<float> SumInOrder(const Layout& layout, size_t count) {
  std::vector<int> nodes;
  std::vector<std::vector<float>> sums;
  for (size_t rank = 0; rank < layout.size(); ++rank) {
    const auto found = std::find(nodes.begin(), nodes.end(), layout[rank]);
    const size_t node = found - nodes.begin();
    if (found == nodes.end()) {
      nodes.push_back(layout[rank]);
      sums.emplace_back();
    }
    Add(ValuesOf(static_cast<int>(rank), count), &sums[node]);
  }
  std::vector<float> all;
  for (const std::vector<float>& sum : sums) Add(sum, &all);
  return all;
}

class BitsTest : public CommunicatorsTest {
 protected:
  // Returns the result of an all-reduce on each rank.
  std::vector<std::vector<float>> AllReduced(size_t count) {
    std::vector<std::vector<float>> results;
    std::mutex mutex;
    WithCommunicators([&](Communicator& comm) {
      std::vector<float> data = ValuesOf(comm.rank(), count);
      EXPECT_TRUE(comm.AllReduce(data).ok());
      std::lock_guard<std::mutex> lock(mutex);
      results.push_back(std::move(data));
    });
    return results;
  }

  static void ExpectAllEqual(const std::vector<std::vector<float>>& results,
                             const std::vector<float>& expected) {
    ASSERT_EQ(results.size(), GetParam().size());
    for (const std::vector<float>& result : results) {
      ASSERT_EQ(result.size(), expected.size());
      EXPECT_EQ(std::memcmp(result.data(), expected.data(), expected.size() * sizeof(float)), 0);
    }
  }

  // Ignores differences by rounding.
  static void ExpectAllNear(const std::vector<std::vector<float>>& results,
                            const std::vector<float>& expected) {
    ASSERT_EQ(results.size(), GetParam().size());
    for (const std::vector<float>& result : results) {
      ASSERT_EQ(result.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(result[i], expected[i], 1e-5f * expected[i]) << "at " << i;
      }
    }
  }

  // Returns false if no two ranks share memory: then Gloo adds in its own order.
  static bool HasOrder() { return SharesMemory() && GetParam() != Layout{0, 1, 2}; }
};

TEST_P(BitsTest, AreTheSameOnEveryRunAndRank) {
  for (const size_t count : {99, 4'099, 400'009}) {
    const std::vector<std::vector<float>> first = AllReduced(count);
    ExpectAllEqual(first, first.front());
    for (int run = 0; run < 2; ++run) ExpectAllEqual(AllReduced(count), first.front());
  }
}

TEST_P(BitsTest, FollowTheOrderOfRanksAndNodesForEverySize) {
  for (const size_t count : {99, 4'099, 400'009}) {
    const std::vector<float> expected = SumInOrder(GetParam(), count);
    HasOrder() ? ExpectAllEqual(AllReduced(count), expected)
               : ExpectAllNear(AllReduced(count), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BitsTest, ::testing::ValuesIn(Layouts()), NameOfLayoutParam);

}  // namespace
}  // namespace muster
