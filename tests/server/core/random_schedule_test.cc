// Random schedules of one coordinator against stated invariants.
//
// Each seed makes a job of 2 to 4 processes that all run one random program of collectives and
// leases. A schedule then interleaves their calls with time-outs, cancels, connections that break
// and heal (with answers lost on them), late and repeated messages, deaths, leaving, and restarts
// of the coordinator, after which the processes attach with their claims. Ranks that are about to
// call the same may arrive together, in one call, which comes late or twice, ends before its parts,
// and is not waited for by all of them. After every step:
//   1. no collective completes without every rank of its group parked in it; withdrawn arrivals do
//   not count;
//   2. all ranks get the same result of a collective, and it is made of what was sent;
//   3. no call is answered twice or after it was cancelled (Harness), and none is forgotten;
//   4. a lease has at most one holder, and its result is the one that was published;
//   5. lease tokens only grow;
//   6. who waits in a call of its own is not named as missing.
// A failing seed is printed; MUSTER_TEST_SEED=N runs that one alone and prints its schedule.

#include "tests/server/core/random_schedule.h"

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
