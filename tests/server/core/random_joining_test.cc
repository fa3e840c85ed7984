// Random schedules of joining alone against stated invariants.
//
// Processes ask for ranks, local ranks, node ranks, world sizes or nothing, come again or twice for
// one place, older or newer than who is there, while that one is attached, detached or gone; they
// wait no longer, lose their connections and die, before the first epoch and after it; where the
// job is elastic, they rejoin. After every step:
//   1. who is answered has the place that the answer says, and all members have the same roster;
//   2. an epoch's members are attached, asked for its size, and no two of them for the same place;
//      ranks are those that were asked for, where all ask; nodes are whole and in order;
//   3. who is refused is told why, truly, and who the other one is;
//   4. nobody is lost to whom nothing has happened;
//   5. where all places are asked for, the epoch forms; of two who wait for one place, one is told
//      within the grace; a broken epoch is followed by another one, or by the end of the job,
//      within the time to rejoin and the settle time;
//   6. every call ends.
// A failing seed is printed; MUSTER_TEST_SEED=N runs that one alone and prints its schedule.

#include "tests/server/core/random_joining.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

namespace muster::core {
namespace {

constexpr int kSeeds = 10'000;

TEST(RandomJoiningTest, InvariantsHold) {
  uint64_t only = 0;
  const char* seed_variable = std::getenv("MUSTER_TEST_SEED");
  const bool one = seed_variable != nullptr && absl::SimpleAtoi(seed_variable, &only);
  size_t epochs = 0;
  for (uint64_t seed = one ? only : 1; seed <= (one ? only : kSeeds); ++seed) {
    RandomJoining schedule(seed, one);
    schedule.Run();
    epochs += schedule.epochs();
    ASSERT_FALSE(HasFailure()) << "seed " << seed
                               << "; replay with --test_env=MUSTER_TEST_SEED=" << seed;
  }
  if (!one) {
    EXPECT_GT(epochs, size_t{kSeeds}) << "the schedules hardly form epochs";
  }
}

}  // namespace
}  // namespace muster::core
