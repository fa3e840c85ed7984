// The assignment of ranks: by node and request in the first epoch, and by survivors in later ones.

#include "server/core/formation/placement.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::core {
namespace {

using ::testing::ElementsAre;

Candidate At(const std::string& name, const std::string& node,
             PlacementConstraints constraints = {}) {
  Candidate candidate;
  candidate.member.incarnation = name;
  candidate.member.node_id = node;
  candidate.constraints = constraints;
  return candidate;
}

PlacementConstraints Rank(uint32_t rank) { return {0, rank, {}, {}, ""}; }
PlacementConstraints Local(uint32_t local, std::optional<uint32_t> node = {}) {
  return {0, {}, local, node, ""};
}
PlacementConstraints Topology(const std::string& topology) { return {0, {}, {}, {}, topology}; }

// Returns "name:node rank/local rank" of each member, in rank order.
std::vector<std::string> Places(const std::vector<Candidate>& candidates) {
  std::vector<std::string> places;
  for (const RosterEntry& entry : AssignPlaces(candidates)) {
    places.push_back(
        absl::StrCat(entry.member.incarnation, ":", entry.node_rank, "/", entry.local_rank));
  }
  return places;
}

TEST(PlacementTest, RanksOfANodeAreContiguousInAnyArrivalOrder) {
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

TEST(PlacementTest, CandidatesWithConstraintsComeFirst) {
  EXPECT_THAT(Places({At("a", "x"), At("b", "y", Local(0, 5)), At("c", "y")}),
              ElementsAre("b:0/0", "c:0/1", "a:1/0"));
}

TEST(PlacementTest, GlobalRanksAreHonouredWhenAllAsk) {
  EXPECT_THAT(Places({At("a", "x", Rank(2)), At("b", "y", Rank(0)), At("c", "x", Rank(1))}),
              ElementsAre("b:0/0", "c:1/0", "a:1/1"));
}

TEST(PlacementTest, TheTopologyStaysWithItsMemberFromEpochToEpoch) {
  const Candidate a = At("a", "x", Topology("zone/rack-1"));
  const Candidate b = At("b", "y", Topology("zone/rack-2"));
  const Candidate c = At("c", "z", Topology("zone/rack-3"));
  const Roster first = AssignPlaces({b, a});
  EXPECT_EQ(first[0].topology, "zone/rack-1");
  EXPECT_EQ(first[1].topology, "zone/rack-2");
  const Roster next = ReassignPlaces({{b.member, 1}}, {c}, first);
  EXPECT_EQ(next[0].topology, "zone/rack-2");
  EXPECT_EQ(next[1].topology, "zone/rack-3");
}

std::vector<std::string> Reassigned(const std::vector<std::pair<std::string, uint32_t>>& survivors,
                                    const std::vector<std::string>& newcomers) {
  std::vector<Survivor> s;
  for (const auto& [name, rank] : survivors) s.push_back({{name, 0, "n", "", 0}, rank});
  std::vector<Candidate> n;
  for (const std::string& name : newcomers) n.push_back({{name, 0, "n", "", 0}, {}});
  std::vector<std::string> names;
  for (const RosterEntry& e : ReassignPlaces(s, n, {})) names.push_back(e.member.incarnation);
  return names;
}

TEST(ReassignTest, SurvivorsKeepTheirRanksIfAllPlacesAreFilled) {
  EXPECT_THAT(Reassigned({{"a", 0}, {"c", 2}, {"d", 3}}, {"x"}), ElementsAre("a", "x", "c", "d"));
}

TEST(ReassignTest, SurvivorsMoveDownInASmallerEpoch) {
  EXPECT_THAT(Reassigned({{"a", 0}, {"c", 2}, {"d", 3}}, {}), ElementsAre("a", "c", "d"));
  EXPECT_THAT(Reassigned({{"b", 1}, {"d", 3}}, {"x"}), ElementsAre("b", "x", "d"));
}

TEST(ReassignTest, Rank0IsTheFirstSurvivor) {
  EXPECT_THAT(Reassigned({{"b", 1}, {"c", 2}}, {"x"}), ElementsAre("b", "x", "c"));
  EXPECT_THAT(Reassigned({}, {"x", "y"}), ElementsAre("x", "y"));
}

TEST(ReassignTest, NewcomersGetTheRankTheyAskForOrTheirNodesOrAny) {
  const MemberIdentity a{"a", 0, "n0", "", 0}, lost{"l", 0, "n1", "", 0};
  const Roster previous{{a, 0, 0, {}}, {lost, 0, 1, {}}, {lost, 1, 1, {}}, {lost, 2, 1, {}}};
  Candidate any{{"x", 0, "n2", "", 0}, {}};
  Candidate same_node{{"y", 0, "n1", "", 0}, {}};
  Candidate asks{{"z", 0, "n2", "", 0}, {}};
  asks.constraints.rank = 1;
  const Roster roster = ReassignPlaces({{a, 0}}, {any, same_node, asks}, previous);
  EXPECT_EQ(roster[1].member.incarnation, "z");
  EXPECT_EQ(roster[2].member.incarnation, "y");
  EXPECT_EQ(roster[3].member.incarnation, "x");
  EXPECT_EQ(roster[3].local_rank, 1u);
  EXPECT_EQ(roster[3].node_rank, roster[1].node_rank);
}

}  // namespace
}  // namespace muster::core
