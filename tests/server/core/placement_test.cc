#include "server/core/placement.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::core {
namespace {

using ::testing::ElementsAre;

Candidate At(const std::string& name, const std::string& node, PlaceWish wish = {}) {
  Candidate candidate;
  candidate.member.incarnation = name;
  candidate.member.node_id = node;
  candidate.wish = wish;
  return candidate;
}

PlaceWish Rank(uint32_t rank) { return {0, rank, {}, {}, ""}; }
PlaceWish Local(uint32_t local, std::optional<uint32_t> node = {}) {
  return {0, {}, local, node, ""};
}
PlaceWish Topology(const std::string& topology) { return {0, {}, {}, {}, topology}; }

// "name:node rank/local rank" in rank order.
std::vector<std::string> Places(const std::vector<Candidate>& candidates) {
  std::vector<std::string> places;
  for (const RosterEntry& entry : AssignPlaces(candidates)) {
    places.push_back(
        absl::StrCat(entry.member.incarnation, ":", entry.node_rank, "/", entry.local_rank));
  }
  return places;
}

TEST(PlacementTest, RanksOfANodeAreContiguousWhateverTheArrival) {
  EXPECT_THAT(Places({At("a", "x"), At("b", "y"), At("c", "x"), At("d", "y")}),
              ElementsAre("a:0/0", "c:0/1", "b:1/0", "d:1/1"));
}

TEST(PlacementTest, RequestedLocalRanksOrderANode) {
  EXPECT_THAT(Places({At("a", "x", Local(2)), At("b", "x", Local(0)), At("c", "x", Local(1))}),
              ElementsAre("b:0/0", "c:0/1", "a:0/2"));
}

TEST(PlacementTest, RequestedNodeRanksOrderNodes) {
  EXPECT_THAT(Places({At("a", "x", Local(0, 1)), At("b", "y", Local(0, 0))}),
              ElementsAre("b:0/0", "a:1/0"));
}

TEST(PlacementTest, TopologyOrdersNodesWithoutNodeRank) {
  EXPECT_THAT(
      Places({At("a", "x", Topology("zone-b/rack-1")), At("b", "y", Topology("zone-a/rack-2")),
              At("c", "z", Topology("zone-a/rack-1")), At("d", "w")}),
      ElementsAre("c:0/0", "b:1/0", "a:2/0", "d:3/0"));
}

TEST(PlacementTest, AWishComesBeforeNone) {
  EXPECT_THAT(Places({At("a", "x"), At("b", "y", Local(0, 5)), At("c", "y")}),
              ElementsAre("b:0/0", "c:0/1", "a:1/0"));
}

TEST(PlacementTest, GlobalRanksAreHonouredWhenAllAsk) {
  EXPECT_THAT(Places({At("a", "x", Rank(2)), At("b", "y", Rank(0)), At("c", "x", Rank(1))}),
              ElementsAre("b:0/0", "c:1/0", "a:1/1"));
}

}  // namespace
}  // namespace muster::core
