#include "client/launcher/pmix/fence_ranks.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int> RanksOf(const std::vector<pmix_rank_t>& ranks) {
  std::vector<pmix_proc_t> processes(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) processes[i].rank = ranks[i];
  return RanksOfFence(processes.data(), processes.size());
}

TEST(FenceRanksTest, RanksAreThoseOfTheList) { EXPECT_THAT(RanksOf({3, 0}), ElementsAre(3, 0)); }

TEST(FenceRanksTest, AWildcardIsAllRanks) { EXPECT_THAT(RanksOf({PMIX_RANK_WILDCARD}), IsEmpty()); }

// A fence of the first rank alone would end without the others.
TEST(FenceRanksTest, AWildcardBesideRanksIsAllRanks) {
  EXPECT_THAT(RanksOf({0, PMIX_RANK_WILDCARD}), IsEmpty());
  EXPECT_THAT(RanksOf({PMIX_RANK_WILDCARD, 0}), IsEmpty());
}

}  // namespace
