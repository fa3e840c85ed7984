// Tests of how the ranks of a node announce their end in the memory that they share.

#include "client/gloo/node_memory/node_memory.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Three ranks of a node, with the ranks 2, 5 and 7 in their group.
class NodeMemoryTest : public ::testing::Test {
 protected:
  std::unique_ptr<NodeMemory> Open(int index) {
    const size_t size = SharedLayout(3).total;
    auto region = index == 0 ? SharedRegion::Make(name_, size) : SharedRegion::Open(name_, size);
    return std::make_unique<NodeMemory>(*std::move(region), std::vector<int>{2, 5, 7}, index,
                                        &interrupter_, [] {});
  }

  // Returns the notices that `reader` finds, with their ranks.
  static std::vector<std::string> ReadNotices(NodeMemory& reader) {
    std::vector<std::string> received;
    for (const EndedPeer& peer : reader.EndedPeers()) {
      received.push_back(std::to_string(peer.rank) + ": " + peer.notice->reason);
    }
    return received;
  }

  const EndNotice notice_{9, true, "its reason"};
  const std::string name_ = SharedRegion::NewName();
  Interrupter interrupter_;
};

TEST_F(NodeMemoryTest, NeighboursReadEachOthersNotices) {
  const auto first = Open(0), second = Open(1), third = Open(2);
  EXPECT_THAT(second->EndedPeers(), IsEmpty());
  EXPECT_THAT(first->Notify(notice_, {0, 5, 7, 9}), ElementsAre(0, 9));
  EXPECT_THAT(ReadNotices(*second), ElementsAre("2: its reason"));
  const EndNotice received = *second->EndedPeers().front().notice;
  EXPECT_EQ(received.rank, 9);
  EXPECT_TRUE(received.failed);
  third->Notify(EndNotice{7, false, std::string(1000, 'x')}, {});
  EXPECT_THAT(ReadNotices(*second), ElementsAre("2: its reason", "7: " + std::string(503, 'x')));
  EXPECT_THAT(ReadNotices(*third), ElementsAre("2: its reason")) << "and not itself";
}

TEST_F(NodeMemoryTest, ANeighbourThatHasNotJoinedIsNotNotified) {
  const auto first = Open(0), second = Open(1);
  EXPECT_THAT(first->Notify(notice_, {5, 7}), ElementsAre(7));
  EXPECT_THAT(ReadNotices(*Open(2)), ElementsAre("2: its reason")) << "but it hears later";
}

TEST_F(NodeMemoryTest, NoticesOutliveTheirRank) {
  auto first = Open(0);
  const auto second = Open(1);
  first->Notify(notice_, {5});
  first.reset();
  EXPECT_THAT(ReadNotices(*second), ElementsAre("2: its reason"));
  EXPECT_THROW(second->collectives().Barrier(1), PeerEnded);
}

TEST_F(NodeMemoryTest, ARankThatEndsSilentlyEndsTheWaitsOfItsNeighbours) {
  auto first = Open(0);
  const auto second = Open(1);
  first.reset();
  EXPECT_THAT(second->EndedPeers(), IsEmpty());
  EXPECT_THROW(second->collectives().Barrier(1), PeerEnded);
}

}  // namespace
}  // namespace muster::internal
