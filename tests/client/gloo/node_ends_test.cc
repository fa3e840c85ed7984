// Tests of how the ranks of a node announce their end in the memory that they share.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/gloo/node_memory/node_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Three ranks of a node, with the ranks 2, 5 and 7 in their group.
class NodeEndsTest : public ::testing::Test {
 protected:
  std::unique_ptr<NodeMemory> Open(int index) {
    const size_t size = SharedLayout(3).total;
    auto region = index == 0 ? SharedRegion::Make(name_, size) : SharedRegion::Open(name_, size);
    return std::make_unique<NodeMemory>(*std::move(region), std::vector<int>{2, 5, 7}, index,
                                        &interruptor_, [] {});
  }

  // Returns what `listener` hears, and of which rank.
  static std::vector<std::string> Heard(NodeMemory& listener) {
    std::vector<std::string> heard;
    for (const EndedPeer& peer : listener.EndedPeers()) {
      heard.push_back(std::to_string(peer.rank) + ": " + peer.words->reason);
    }
    return heard;
  }

  const PeerEnd words_{9, true, "its reason"};
  const std::string name_ = SharedRegion::NewName();
  Interruptor interruptor_;
};

TEST_F(NodeEndsTest, ARankHearsItsNeighbours) {
  const auto first = Open(0), second = Open(1), third = Open(2);
  EXPECT_THAT(second->EndedPeers(), IsEmpty());
  EXPECT_THAT(first->Tell(words_, {0, 5, 7, 9}), ElementsAre(0, 9));
  EXPECT_THAT(Heard(*second), ElementsAre("2: its reason"));
  const PeerEnd heard = *second->EndedPeers().front().words;
  EXPECT_EQ(heard.rank, 9);
  EXPECT_TRUE(heard.failed);
  third->Tell(PeerEnd{7, false, std::string(1000, 'x')}, {});
  EXPECT_THAT(Heard(*second), ElementsAre("2: its reason", "7: " + std::string(503, 'x')));
  EXPECT_THAT(Heard(*third), ElementsAre("2: its reason")) << "and not itself";
}

TEST_F(NodeEndsTest, ANeighbourThatDoesNotLookThereYetIsNotTold) {
  const auto first = Open(0), second = Open(1);
  EXPECT_THAT(first->Tell(words_, {5, 7}), ElementsAre(7));
  EXPECT_THAT(Heard(*Open(2)), ElementsAre("2: its reason")) << "but it hears later";
}

TEST_F(NodeEndsTest, WordsStayWhenTheirRankIsGone) {
  auto first = Open(0);
  const auto second = Open(1);
  first->Tell(words_, {5});
  first.reset();
  EXPECT_THAT(Heard(*second), ElementsAre("2: its reason"));
  EXPECT_THROW(second->collectives().Barrier(1), PeerEnded);
}

TEST_F(NodeEndsTest, ARankThatEndsWithoutAWordEndsTheWaitsOfItsNeighboursAllTheSame) {
  auto first = Open(0);
  const auto second = Open(1);
  first.reset();
  EXPECT_THAT(second->EndedPeers(), IsEmpty());
  EXPECT_THROW(second->collectives().Barrier(1), PeerEnded);
}

}  // namespace
}  // namespace muster::internal
