// Random schedules of joining alone, checked against invariants.
//
// Processes ask for ranks, local ranks, node ranks, world sizes or nothing. Two may ask for one
// place, the newer one older or newer than the holder, while the holder is attached, detached or
// gone. Processes cancel, lose their connections and die, before the first epoch and after it. In
// elastic jobs they rejoin. After every step:
//   1. A process that is answered has the place that the answer says, and all members of an epoch
//      have the same roster.
//   2. The members of an epoch are attached, have asked for its size, and ask for different
//      places. If all ask for ranks, they get them. Nodes are contiguous and in order.
//   3. A process that is refused is told the true reason, and which process has its place.
//   4. A process is lost only if something has happened to it.
//   5. If all places are asked for, the epoch forms. Of two processes that wait for one place, one
//      is refused within the grace. A broken epoch is followed by another one, or by the end of
//      the job, within the time to rejoin and the settle time.
//   6. Every call ends.
// A failing seed is printed. MUSTER_TEST_SEED=N runs only that seed and prints its schedule.

#include "tests/server/core/random/random_joining.h"

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
