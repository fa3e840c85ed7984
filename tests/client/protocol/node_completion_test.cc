// Tests of the result with which a sender completes a collective on its node.

#include "client/src/protocol/node_completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CollectiveCall CallOf(CollectiveKind kind, int root = 0) {
  CollectiveCall call;
  call.kind = kind;
  call.root = root;
  return call;
}

TakenPart PartOf(uint32_t member, const std::string& payload = "") {
  TakenPart part;
  part.member = member;
  part.contribution.payload = payload;
  return part;
}

// Returns the answer of the world of three ranks on one node, of which rank 1 is the sender.
std::optional<Response> AnswerOfWorld(const CollectiveCall& call, bool is_root,
                                      const std::vector<std::string>& payloads,
                                      bool stop_requested = false) {
  const std::vector<TakenPart> parts = {PartOf(1, payloads[1]), PartOf(0, payloads[0]),
                                        PartOf(2, payloads[2])};
  const std::optional<Delivery> delivery =
      CompleteOnNode({0, 1, 2}, {0, 1, 2}, call, parts, stop_requested);
  if (!delivery) return std::nullopt;
  EXPECT_TRUE(delivery->on_node);
  EXPECT_THAT(delivery->completed, ElementsAre(0, 1, 2));
  return AnswerOf(call.kind, is_root, delivery->answer);
}

TEST(NodeCompletionTest, ABarrierHasNoPayloads) {
  const auto answer = AnswerOfWorld(CallOf(CollectiveKind::kBarrier), false, {"", "", ""});
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(StopRequestedIn(*answer));
  EXPECT_THAT(PayloadsOf(*answer), IsEmpty());
}

TEST(NodeCompletionTest, ABroadcastHasTheRootsPayload) {
  const auto answer = AnswerOfWorld(CallOf(CollectiveKind::kBroadcast, 2), false, {"", "", "two"});
  ASSERT_TRUE(answer.has_value());
  EXPECT_THAT(PayloadsOf(*answer), ElementsAre("two"));
}

TEST(NodeCompletionTest, AGatherGivesTheRootAllPayloadsAndTheOthersNone) {
  const CollectiveCall call = CallOf(CollectiveKind::kGather, 1);
  const std::vector<std::string> payloads = {"zero", "one", ""};
  EXPECT_THAT(PayloadsOf(*AnswerOfWorld(call, /*is_root=*/true, payloads)),
              ElementsAre("zero", "one", ""));
  EXPECT_THAT(PayloadsOf(*AnswerOfWorld(call, /*is_root=*/false, payloads)), IsEmpty());
}

TEST(NodeCompletionTest, TheAnswerReportsAStop) {
  for (const auto kind : {CollectiveKind::kBarrier, CollectiveKind::kBroadcast,
                          CollectiveKind::kGather, CollectiveKind::kAllGather}) {
    EXPECT_TRUE(StopRequestedIn(*AnswerOfWorld(CallOf(kind), true, {"", "", ""}, true)));
  }
}

// A group's order differs from that of its node's members.
TEST(NodeCompletionTest, AnAllGatherIsInTheOrderOfTheGroup) {
  const std::vector<int> group_ranks = {6, 2, 4};
  const std::vector<int> node_ranks = {1, 2, 4, 6};
  const std::vector<TakenPart> parts = {PartOf(2, "four"), PartOf(1, "two"), PartOf(3, "six")};
  const CollectiveCall call = CallOf(CollectiveKind::kAllGather);
  const auto delivery = CompleteOnNode(group_ranks, node_ranks, call, parts, false);
  ASSERT_TRUE(delivery.has_value());
  EXPECT_THAT(PayloadsOf(*AnswerOf(call.kind, false, delivery->answer)),
              ElementsAre("six", "two", "four"));
}

TEST(NodeCompletionTest, EveryRankOfTheGroupMustHaveAPart) {
  const CollectiveCall call = CallOf(CollectiveKind::kBarrier);
  const auto completes = [&](const std::vector<int>& group, const std::vector<TakenPart>& parts) {
    return CompleteOnNode(group, {0, 1, 2}, call, parts, false).has_value();
  };
  EXPECT_TRUE(completes({0, 2}, {PartOf(0), PartOf(2)}));
  EXPECT_FALSE(completes({0, 1, 2}, {PartOf(0), PartOf(2)})) << "a member has not arrived";
  EXPECT_FALSE(completes({0, 1, 2, 3}, {PartOf(0), PartOf(1), PartOf(2)})) << "on another node";
  EXPECT_FALSE(completes({0, 2}, {PartOf(0), PartOf(1)})) << "a part is not of the group";
  EXPECT_FALSE(completes({0, 2}, {PartOf(0), PartOf(0)})) << "a member has two parts";
  EXPECT_FALSE(completes({0, 2}, {PartOf(0), PartOf(7)})) << "there is no such member";
}

TEST(NodeCompletionTest, TheCoordinatorRefusesWhatItWouldNotAccept) {
  CollectiveCall sized = CallOf(CollectiveKind::kAllGather);
  sized.payload_size = 3;
  EXPECT_TRUE(AnswerOfWorld(sized, false, {"abc", "def", "ghi"}).has_value());
  EXPECT_FALSE(AnswerOfWorld(sized, false, {"abc", "de", "ghi"}).has_value());
  CollectiveCall broadcast = CallOf(CollectiveKind::kBroadcast, 1);
  EXPECT_FALSE(AnswerOfWorld(broadcast, false, {"not the root", "one", ""}).has_value());
  broadcast.payload_size = 3;
  EXPECT_TRUE(AnswerOfWorld(broadcast, false, {"", "one", ""}).has_value())
      << "the size is that of the root";
  EXPECT_FALSE(AnswerOfWorld(CallOf(CollectiveKind::kGather, 3), false, {"", "", ""}).has_value());
  EXPECT_FALSE(AnswerOfWorld(CallOf(CollectiveKind::kGather, -1), false, {"", "", ""}).has_value());
}

TEST(NodeCompletionTest, LargeAnswersGoToTheCoordinator) {
  const CollectiveCall call = CallOf(CollectiveKind::kAllGather);
  const std::string large(MaxFanInAnswerBytes(3) / 3, 'x');
  EXPECT_TRUE(AnswerOfWorld(call, false, {large, large, large}).has_value());
  EXPECT_FALSE(AnswerOfWorld(call, false, {large, large, large + "xyz"}).has_value());
}

TEST(NodeCompletionTest, OneKibibyteFromEachOf64RanksIsNotLarge) {
  std::vector<int> ranks;
  std::vector<TakenPart> parts;
  for (int rank = 0; rank < 64; ++rank) {
    ranks.push_back(rank);
    parts.push_back(PartOf(rank, std::string(1024, 'x')));
  }
  const CollectiveCall call = CallOf(CollectiveKind::kAllGather);
  EXPECT_TRUE(CompleteOnNode(ranks, ranks, call, parts, false).has_value());
}

}  // namespace
}  // namespace muster::internal
