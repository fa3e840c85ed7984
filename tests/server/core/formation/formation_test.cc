// The rule that decides when an epoch forms: pure logic, from counts of survivors and newcomers.

#include "server/core/formation/formation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::core {
namespace {

using ::testing::HasSubstr;

// Returns an elastic job of 2 to 4 members whose epoch of 4 has ended.
FormationInput AfterALoss(uint32_t survivors, uint32_t newcomers) {
  FormationInput in;
  in.places = 4;
  in.minimum = 2;
  in.previous_size = 4;
  in.survivors = survivors;
  in.newcomers = newcomers;
  in.settled = true;
  return in;
}

TEST(FormationTest, AJobThatIsNotElasticNeedsEverybody) {
  FormationInput in;
  in.places = 3;
  in.newcomers = 2;
  in.settled = true;
  EXPECT_FALSE(DecideFormation(in).form);
  EXPECT_EQ(DecideFormation(in).reason, "2 of 3 members have joined");
  in.newcomers = 3;
  EXPECT_TRUE(DecideFormation(in).form);
}

TEST(FormationTest, UnfilledPlacesWaitForTheSettleTime) {
  FormationInput in = AfterALoss(3, 0);
  in.settled = false;
  EXPECT_FALSE(DecideFormation(in).form);
  in.settled = true;
  EXPECT_TRUE(DecideFormation(in).form);
  in.newcomers = 1;
  in.settled = false;
  EXPECT_TRUE(DecideFormation(in).form) << "every place is filled";
}

TEST(FormationTest, HalfOfTheEpochBeforeNeedsItsRank0) {
  FormationInput in = AfterALoss(2, 0);
  EXPECT_FALSE(DecideFormation(in).form);
  EXPECT_THAT(DecideFormation(in).reason, HasSubstr("only 2 of the 4 members"));
  in.previous_rank_0_came = true;
  EXPECT_TRUE(DecideFormation(in).form);
}

TEST(FormationTest, NewcomersMakeNoMajorityButMayFillAllPlaces) {
  EXPECT_FALSE(DecideFormation(AfterALoss(1, 2)).form);
  EXPECT_TRUE(DecideFormation(AfterALoss(1, 3)).form);
  EXPECT_TRUE(DecideFormation(AfterALoss(0, 4)).form);
}

TEST(FormationTest, FewerThanTheMinimumNeverForm) {
  FormationInput in = AfterALoss(1, 0);
  in.previous_size = 1;
  EXPECT_THAT(DecideFormation(in).reason, HasSubstr("1 of 4 members have joined, at least 2 must"));
}

TEST(FormationTest, ASurvivorThatMayStillComeIsWaitedFor) {
  FormationInput in = AfterALoss(3, 0);
  in.awaited = 1;
  EXPECT_FALSE(DecideFormation(in).form);
  EXPECT_THAT(DecideFormation(in).reason, HasSubstr("1 of the previous epoch may still come"));
}

}  // namespace
}  // namespace muster::core
