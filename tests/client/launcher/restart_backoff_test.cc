// Tests of when a launcher restarts its coordinator.
#include "client/launcher/process/restart_backoff.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

using ::testing::ElementsAre;

const absl::Time kBegin = absl::UnixEpoch();
constexpr absl::Duration kPatience = absl::Minutes(10);

// Returns the pauses after each of `ends` ends of a process that ends as soon as it is started.
std::vector<absl::Duration> Pauses(RestartBackoff* backoff, int ends) {
  std::vector<absl::Duration> pauses;
  absl::Time now = kBegin;
  for (int i = 0; i < ends; ++i) {
    const std::optional<absl::Duration> pause = backoff->NextPause(now, now);
    if (!pause) break;
    pauses.push_back(*pause);
    now += *pause;
  }
  return pauses;
}

TEST(RestartBackoffTest, PausesDoubleUpToHalfAMinute) {
  RestartBackoff backoff(kPatience);
  EXPECT_THAT(Pauses(&backoff, 11),
              ElementsAre(absl::ZeroDuration(), absl::Milliseconds(100), absl::Milliseconds(200),
                          absl::Milliseconds(400), absl::Milliseconds(800), absl::Seconds(1.6),
                          absl::Seconds(3.2), absl::Seconds(6.4), absl::Seconds(12.8),
                          absl::Seconds(25.6), absl::Seconds(30)));
}

TEST(RestartBackoffTest, RestartsUntilThePatienceIsOver) {
  RestartBackoff backoff(kPatience);
  absl::Duration all;
  for (absl::Duration pause : Pauses(&backoff, 1000)) all += pause;
  EXPECT_GE(all, kPatience);
  EXPECT_LE(all, kPatience + absl::Seconds(30));
}

TEST(RestartBackoffTest, RestartsAtOnceAfterALongUptime) {
  RestartBackoff backoff(kPatience);
  Pauses(&backoff, 5);
  const absl::Time started = kBegin + absl::Minutes(1);
  EXPECT_EQ(backoff.NextPause(started, started + absl::Seconds(10)), absl::ZeroDuration());
  // The wait begins anew, however long ago the process first ended.
  const absl::Time again = kBegin + 2 * kPatience;
  EXPECT_EQ(backoff.NextPause(again - absl::Seconds(10), again), absl::ZeroDuration());
  EXPECT_EQ(backoff.NextPause(again, again), absl::Milliseconds(100));
}

}  // namespace
}  // namespace muster::launcher
