// Tests of how ranks are assigned to nodes, and which rank serves which.
#include "client/gloo/node_memory/node_layout.h"

#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;

NodeLayout MakeLayout(const std::vector<std::string>& nodes) { return NodeLayout(nodes); }

TEST(NodeLayoutTest, NumbersNodesByTheirFirstRanks) {
  const NodeLayout nodes = MakeLayout({"z", "a", "z", "m", "a", "z"});
  EXPECT_THAT(nodes.nodes(), ElementsAre(ElementsAre(0, 2, 5), ElementsAre(1, 4), ElementsAre(3)));
  EXPECT_EQ(nodes.node_of(4), 1);
  EXPECT_EQ(nodes.index_of(5), 2);
  EXPECT_FALSE(nodes.all_alone());
}

TEST(NodeLayoutTest, ARankThatCannotShareSplitsItsNode) {
  const NodeLayout nodes = MakeLayout({"a", "b", "a", "b"});
  EXPECT_THAT(nodes.WithUnsharedNodesSplit({true, true, false, true}).nodes(),
              ElementsAre(ElementsAre(0), ElementsAre(1, 3), ElementsAre(2)));
  EXPECT_THAT(nodes.WithUnsharedNodesSplit({true, true, true, true}).nodes(), nodes.nodes());
  EXPECT_TRUE(nodes.WithUnsharedNodesSplit({false, true, true, false}).all_alone());
}

// On each node, exactly one rank serves each rank of another node.
TEST(NodeLayoutTest, EveryRankIsServedOnceOnEachNode) {
  for (const NodeLayout& nodes :
       {MakeLayout({"a", "a", "b", "b"}), MakeLayout({"a", "b", "a", "b"}),
        MakeLayout({"a", "b", "b", "b", "c"})}) {
    std::vector<std::vector<int>> served(nodes.nodes().size(), std::vector<int>(nodes.ranks()));
    for (int rank = 0; rank < nodes.ranks(); ++rank) {
      EXPECT_EQ(nodes.ServedBy(rank).back(), rank);
      for (const int other : nodes.ServedBy(rank)) {
        ++served[nodes.node_of(rank)][other];
        EXPECT_EQ(nodes.Counterpart(other, nodes.node_of(rank)), rank);
      }
    }
    for (const auto& on_node : served) EXPECT_THAT(on_node, ::testing::Each(1));
  }
}

TEST(NodeLayoutTest, EvenSharesCoverEveryByteOnceAndNoneOnTheExcludedNode) {
  const NodeLayout nodes = MakeLayout({"a", "b", "b", "b", "c", "c"});
  for (const int except : {-1, 0, 1, 2}) {
    for (const size_t bytes : {0, 1, 64, 100, 1000, 123'456}) {
      const Pieces shares = nodes.EvenShares(bytes, except);
      std::vector<int> covered(bytes);
      for (int rank = 0; rank < nodes.ranks(); ++rank) {
        const Piece& share = shares[rank];
        EXPECT_EQ(share.bytes == 0 || share.offset % 64 == 0, true);
        if (nodes.node_of(rank) == except) {
          EXPECT_EQ(share.bytes, 0u);
        }
        for (size_t i = 0; i < share.bytes; ++i) ++covered[share.offset + i];
      }
      EXPECT_THAT(covered, ::testing::Each(1)) << bytes << " bytes without node " << except;
    }
  }
}

TEST(NodeLayoutTest, NodesGetEqualSharesRegardlessOfTheirSize) {
  const NodeLayout nodes = MakeLayout({"a", "b", "b", "b"});
  const Pieces shares = nodes.EvenShares(6 * 64 * 100);
  EXPECT_EQ(shares[0].bytes, 3u * 64 * 100);
  for (const int rank : {1, 2, 3}) EXPECT_EQ(shares[rank].bytes, 64u * 100);
}

}  // namespace
}  // namespace muster::internal
