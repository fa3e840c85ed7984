#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/server/core/random/random_store_schedule.h"

// Random schedules of a few clients and a few keys, with everything that may go wrong: streams end,
// daemons are killed, clients come late, die, or are silent until they count as lost. The checks
// are those of tests/model/store.pml: ONCE, RESULT, HELD, LOST, RISEN and GIVEN_UP during the
// schedule (random_store_history.h), and STUCK and PLACED at its end, when all messages have
// arrived. Contents and watches must be right, too.
//
// MUSTER_TEST_SEED repeats one seed.
namespace muster::core::store {
namespace {

void RunSeeds(StoreSchedule::Configuration configuration) {
  uint64_t first = 1;
  uint64_t last = 1000;
  uint64_t seed = 0;
  if (const char* const text = std::getenv("MUSTER_TEST_SEED");
      text != nullptr && absl::SimpleAtoi(text, &seed)) {
    first = last = seed;
  }
  for (seed = first; seed <= last && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("MUSTER_TEST_SEED=", seed));
    StoreSchedule(seed, configuration).Run(1500);
  }
}

TEST(RandomStoreTest, NothingIsLostWhenStreamsAndDaemonsEnd) { RunSeeds({}); }

TEST(RandomStoreTest, LosesNoMoreThanItMayWhenClientsAreLost) { RunSeeds({true}); }

}  // namespace
}  // namespace muster::core::store
