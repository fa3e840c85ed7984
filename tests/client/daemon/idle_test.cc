// Calls after a silence, as between the steps of a training run.
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/time/clock.h"
#include "muster/job.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kSoon = absl::Milliseconds(25);
constexpr int kTries = 5;  // the machine may be slow for a moment

absl::Duration TimeBarrier(Jobs* jobs) {
  const absl::Time begin = absl::Now();
  for (const absl::Status& met : jobs->OnAll([](Job& job) { return job.Barrier(); })) {
    EXPECT_EQ(met, absl::OkStatus());
  }
  return absl::Now() - begin;
}

// gRPC's threads sleep for a tenth of a second when nothing has come for a second: the silence ends
// within that.
TEST(IdleTest, ABarrierAfterASecondOfSilenceIsAsFastAsAnyOther) {
  Jobs jobs(4);
  absl::Duration best = absl::InfiniteDuration();
  for (int i = 0; i < kTries && best > kSoon; ++i) {
    for (int busy = 0; busy < 20; ++busy) TimeBarrier(&jobs);
    absl::SleepFor(absl::Milliseconds(1020));
    best = std::min(best, TimeBarrier(&jobs));
  }
  EXPECT_LE(best, kSoon);
}

}  // namespace
}  // namespace muster::testing
