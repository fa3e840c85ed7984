// Random schedules of one coordinator, checked against invariants.
//
// Each seed makes a job of 2 to 4 processes that all run one random program of collectives and
// leases. The schedule interleaves their calls with time-outs, cancels, connections that break and
// heal (and lose answers), late and repeated messages, deaths and leaves. It also restarts the
// coordinator, and then the processes attach with their claims. Ranks that are about to make the
// same call may arrive together in one call. That call may come late or twice, or end before its
// parts, and some of the ranks may not wait for it. After every step:
//   1. No collective completes without every rank of its group parked in it. Withdrawn arrivals do
//      not count.
//   2. All ranks get the same result of a collective, made of what was sent.
//   3. No call is answered twice, or after it was cancelled (Harness checks this). No call is
//      forgotten.
//   4. A lease has at most one holder, and its result is the one that was published.
//   5. Lease tokens only grow.
//   6. No rank with a parked call of its own is listed as missing.
// A failing seed is printed. MUSTER_TEST_SEED=N runs only that seed and prints its schedule.

#include "tests/server/core/random/random_schedule.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

namespace muster::core {
namespace {

constexpr int kSeeds = 12'000;

TEST(RandomScheduleTest, InvariantsHold) {
  uint64_t only = 0;
  const char* seed_variable = std::getenv("MUSTER_TEST_SEED");
  const bool one = seed_variable != nullptr && absl::SimpleAtoi(seed_variable, &only);
  for (uint64_t seed = one ? only : 1; seed <= (one ? only : kSeeds); ++seed) {
    RandomSchedule(seed, one).Run();
    ASSERT_FALSE(HasFailure()) << "seed " << seed
                               << "; replay with --test_env=MUSTER_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace muster::core
