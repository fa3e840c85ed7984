// Runs random schedules of a whole job and checks the invariants; see README.md.
#include "tests/simulation/simulation.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace muster::simulation {
namespace {

constexpr uint64_t kSchedules = 3'000;

TEST(SimulationTest, InvariantsHold) {
  uint64_t only = 0;
  const char* seed_variable = std::getenv("MUSTER_TEST_SEED");
  const bool one = seed_variable != nullptr && absl::SimpleAtoi(seed_variable, &only);
  for (uint64_t seed = one ? only : 1; seed <= (one ? only : kSchedules); ++seed) {
    Options options;
    options.seed = seed;
    options.verbose = one;
    const Result result = Simulate(options);
    ASSERT_TRUE(result.violations.empty())
        << absl::StrJoin(result.violations, "\n") << "\nseed " << seed
        << "; replay with --test_env=MUSTER_TEST_SEED=" << seed
        << ", or with tests/simulation:simulate --seed=" << seed;
  }
}

}  // namespace
}  // namespace muster::simulation
