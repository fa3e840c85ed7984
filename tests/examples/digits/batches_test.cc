// Tests of the order of images, and of how batches are split among ranks.
#include "examples/digits/batches.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"

namespace digits {
namespace {

std::vector<int> Iota(int count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(EpochOrder, IsAPermutationThatSeedAndEpochDetermine) {
  const std::vector<int> order = EpochOrder(100, /*seed=*/7, /*epoch=*/1);
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, Iota(100));
  EXPECT_EQ(order, EpochOrder(100, 7, 1));
  EXPECT_NE(order, EpochOrder(100, 7, 2));
  EXPECT_NE(order, EpochOrder(100, 8, 1));
  EXPECT_NE(order, EpochOrder(100, 7 + (uint64_t{1} << 32), 1));
}

TEST(Batches, FollowTheOrderAndTheLastIsShorter) {
  const std::vector<int> order = {4, 2, 0, 1, 3};
  const std::vector<absl::Span<const int>> batches = Batches(order, 2);
  ASSERT_EQ(batches.size(), 3);
  EXPECT_EQ(batches[0], (absl::Span<const int>{order.data(), 2}));
  EXPECT_EQ(batches[2], (absl::Span<const int>{order.data() + 4, 1}));
  EXPECT_EQ(Batches(order, 100).size(), 1);
}

TEST(Share, CoversEveryBatchExactlyOnceAtEveryWorldSize) {
  for (int size : {0, 1, 2, 3, 7, 64, 65, 1438}) {
    const std::vector<int> items = Iota(size);
    for (int world_size = 1; world_size <= 9; ++world_size) {
      std::vector<int> together;
      for (int rank = 0; rank < world_size; ++rank) {
        const absl::Span<const int> share = Share(absl::MakeConstSpan(items), rank, world_size);
        together.insert(together.end(), share.begin(), share.end());
        EXPECT_LE(share.size(), size / world_size + 1);
        EXPECT_GE(share.size(), size / world_size);
      }
      EXPECT_EQ(together, items) << size << " items, " << world_size << " ranks";
    }
  }
}

}  // namespace
}  // namespace digits
