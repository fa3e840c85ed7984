// The counters and the gauges of a coordinator.

#include "server/core/reports/metrics.h"

#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/statistics/counters.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kMinute = absl::Minutes(1);

Metrics Measured(Harness& h) { return h.coordinator().Measure(h.now()); }

uint32_t In(MemberState state, const Metrics& metrics) {
  return metrics.members[static_cast<size_t>(state)];
}

template <typename Kind, size_t kKinds>
uint64_t CountOf(Kind kind, const std::array<uint64_t, kKinds>& counts) {
  return counts[static_cast<size_t>(kind)];
}

// Returns the number of losses that have another cause.
uint64_t LossesBut(LossCause cause, const Metrics& metrics) {
  const auto& losses = metrics.counters.losses;
  return std::accumulate(losses.begin(), losses.end(), uint64_t{0}) - CountOf(cause, losses);
}

void ExpectOneLoss(Harness& h, LossCause cause) {
  const Metrics metrics = Measured(h);
  EXPECT_EQ(CountOf(cause, metrics.counters.losses), 1u);
  EXPECT_EQ(LossesBut(cause, metrics), 0u);
}

// Returns the number of waits in the buckets up to `bound` seconds.
uint64_t UpTo(double bound, const WaitHistogram& waits) {
  uint64_t count = 0;
  for (size_t i = 0; i < WaitHistogram::kBounds.size() && WaitHistogram::kBounds[i] <= bound; ++i) {
    count += waits.counts()[i];
  }
  return count;
}

// ---- WaitHistogram, CollectiveWaitsTable ----

TEST(WaitHistogramTest, AWaitIsInTheFirstBucketThatHoldsIt) {
  WaitHistogram waits;
  waits.Add(absl::ZeroDuration());
  waits.Add(absl::Milliseconds(5));
  waits.Add(absl::Milliseconds(5) + absl::Nanoseconds(1));
  waits.Add(absl::Hours(1));
  EXPECT_EQ(UpTo(0.0005, waits), 1u);
  EXPECT_EQ(UpTo(0.005, waits), 2u);
  EXPECT_EQ(UpTo(0.01, waits), 3u);
  EXPECT_EQ(UpTo(300, waits), 3u);
  EXPECT_EQ(waits.count(), 4u);
  EXPECT_NEAR(waits.sum(), 3600.010, 1e-6);
}

TEST(CollectiveWaitsTableTest, NumberedNamesAreMergedAndNamesBeyondTheBoundAreOthers) {
  CollectiveWaitsTable table;
  EXPECT_EQ(table.Find(CollectiveKind::kBarrier, "tp-12", "step 7"),
            table.Find(CollectiveKind::kBarrier, "tp-3", "step 812"));
  EXPECT_NE(table.Find(CollectiveKind::kBarrier, "", "step"),
            table.Find(CollectiveKind::kAllGather, "", "step"));
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      table.Find(CollectiveKind::kBarrier, "", std::string{a, b})->Add(absl::Seconds(1));
    }
  }
  const std::vector<CollectiveWaits> all = table.All();
  ASSERT_THAT(all, SizeIs(CollectiveWaitsTable::kMost + 1));
  EXPECT_FALSE(all.back().kind.has_value());
  // 26 * 26, less the names that were counted while there was room beside the three above.
  EXPECT_EQ(all.back().waits.count(), 26u * 26 - (CollectiveWaitsTable::kMost - 3));
}

// ---- What a coordinator counts ----

TEST(MetricsTest, ANewCoordinatorHasNothing) {
  Harness h(2);
  const Metrics metrics = Measured(h);
  EXPECT_EQ(metrics.state, JobState::kForming);
  EXPECT_FALSE(metrics.epoch.has_value());
  EXPECT_EQ(metrics.world_size, 2u);
  EXPECT_EQ(metrics.known_members, 0u);
  EXPECT_THAT(metrics.collective_waits, IsEmpty());
  EXPECT_EQ(metrics.oldest_pending, absl::ZeroDuration());
}

TEST(MetricsTest, MembersAreCountedByTheirState) {
  Harness h(4);
  Process joining = h.Attached();
  h.Join(joining);
  h.Attached();
  EXPECT_EQ(In(MemberState::kJoining, Measured(h)), 1u);
  EXPECT_EQ(In(MemberState::kAttached, Measured(h)), 1u);
  EXPECT_EQ(Measured(h).known_members, 2u);
  EXPECT_EQ(Measured(h).parked_calls, 1u);

  Harness formed(3);
  std::vector<Process> p = formed.Formed(3);
  formed.CloseStream(p[0]);
  formed.Leave(p[1]);
  const Metrics metrics = Measured(formed);
  EXPECT_EQ(In(MemberState::kDetached, metrics), 1u);
  EXPECT_EQ(In(MemberState::kLeaving, metrics), 1u);
  EXPECT_EQ(In(MemberState::kRunning, metrics), 1u);
  EXPECT_EQ(metrics.state, JobState::kRunning);
  EXPECT_EQ(metrics.epoch, p[0].epoch.number);
  EXPECT_EQ(metrics.counters.epochs_formed, 1u);
}

TEST(MetricsTest, ArrivalsAndCompletionsAreCountedByKind) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Barrier(p[0]);
  EXPECT_EQ(CountOf(CollectiveKind::kBarrier, Measured(h).counters.arrivals), 1u);
  EXPECT_EQ(CountOf(CollectiveKind::kBarrier, Measured(h).counters.completed), 0u);
  h.Barrier(p[1]);
  h.Send(h.Request(p[0], CollectiveKind::kAllGather, "a"));
  h.Send(h.Request(p[1], CollectiveKind::kAllGather, "b"));
  const Counters counters = Measured(h).counters;
  EXPECT_EQ(CountOf(CollectiveKind::kBarrier, counters.arrivals), 2u);
  EXPECT_EQ(CountOf(CollectiveKind::kBarrier, counters.completed), 1u);
  EXPECT_EQ(CountOf(CollectiveKind::kAllGather, counters.arrivals), 2u);
  EXPECT_EQ(CountOf(CollectiveKind::kAllGather, counters.completed), 1u);
  EXPECT_EQ(CountOf(CollectiveKind::kGather, counters.completed), 0u);
}

TEST(MetricsTest, ArrivalsOfANodeTogetherAreArrivals) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  std::vector<CollectiveRequest> calls;
  for (Process& process : p) calls.push_back(h.Request(process, CollectiveKind::kBarrier));
  h.Send(Harness::Together(calls));
  EXPECT_EQ(CountOf(CollectiveKind::kBarrier, Measured(h).counters.arrivals), 3u);
  EXPECT_EQ(CountOf(CollectiveKind::kBarrier, Measured(h).counters.completed), 1u);
}

TEST(MetricsTest, ACollectiveOfOneCompletesWithoutAWait) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  h.Barrier(p[0]);
  EXPECT_EQ(CountOf(CollectiveKind::kBarrier, Measured(h).counters.completed), 1u);
  EXPECT_THAT(Measured(h).collective_waits, IsEmpty());
}

TEST(MetricsTest, WaitsAreCountedByKindGroupAndLabel) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  for (int step = 0; step < 10; ++step) {
    for (Process& process : p) {
      h.Barrier(process, absl::StrCat("step ", step));
      if (&process != &p.back()) h.Advance(absl::Milliseconds(100));
    }
  }
  const std::vector<CollectiveWaits> waits = Measured(h).collective_waits;
  ASSERT_THAT(waits, SizeIs(1));
  EXPECT_EQ(waits[0].kind, CollectiveKind::kBarrier);
  EXPECT_EQ(waits[0].group, "");
  EXPECT_EQ(waits[0].label, "step #");
  EXPECT_EQ(UpTo(0.1, waits[0].waits), 0u);
  EXPECT_EQ(UpTo(0.25, waits[0].waits), 10u);
  EXPECT_NEAR(waits[0].waits.sum(), 2.0, 1e-6);
}

TEST(MetricsTest, WaitsOfTheNextEpochAddToThoseOfTheOneBefore) {
  Harness h(Harness::ElasticOptions(1, 2));
  std::vector<Process> p = h.Formed(2);
  h.Barrier(p[0], "step");
  h.Barrier(p[1], "step");
  h.ReportExit(p[1], true, 9);
  EXPECT_EQ(Measured(h).state, JobState::kReforming);
  Process newcomer = h.Attached();
  const WaiterId join = h.Join(newcomer);
  EXPECT_EQ(Measured(h).newcomers_waiting, 1u);
  h.TakePlace(p[0], h.Rejoin(p[0]));
  h.TakePlace(newcomer, join);
  h.Barrier(p[0], "step");
  h.Barrier(newcomer, "step");
  const Metrics metrics = Measured(h);
  ASSERT_THAT(metrics.collective_waits, SizeIs(1));
  EXPECT_EQ(metrics.collective_waits[0].waits.count(), 2u);
  EXPECT_EQ(metrics.counters.epochs_formed, 2u);
  EXPECT_EQ(metrics.counters.epochs_broken, 1u);
  EXPECT_EQ(metrics.replacements, 1u);
  EXPECT_EQ(metrics.newcomers_waiting, 0u);
}

TEST(MetricsTest, APendingCollectiveIsAsOldAsItsFirstArrival) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Barrier(p[0]);
  h.Advance(absl::Seconds(7));
  h.Barrier(p[1]);
  h.Advance(absl::Seconds(2));
  EXPECT_EQ(Measured(h).pending_collectives, 1u);
  EXPECT_EQ(Measured(h).oldest_pending, absl::Seconds(9));
  h.Barrier(p[2]);
  EXPECT_EQ(Measured(h).pending_collectives, 0u);
  EXPECT_EQ(Measured(h).oldest_pending, absl::ZeroDuration());
}

TEST(MetricsTest, HeldBytesAreThePayloads) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Send(h.Request(p[0], CollectiveKind::kGather, std::string(1000, 'x')));
  EXPECT_GE(Measured(h).held_bytes, 1000u);
}

// ---- Leases ----

TEST(MetricsTest, LeasesAreHeldAndWaitedFor) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId first = h.Acquire(p[0], "index", 1);
  h.Acquire(p[1], "index", 1);
  EXPECT_EQ(Measured(h).leases_held, 1u);
  EXPECT_EQ(Measured(h).lease_waiters, 1u);
  EXPECT_EQ(Measured(h).lease_names, 1u);
  EXPECT_EQ(Measured(h).counters.lease_waits.count(), 1u) << "the first has got it at once";
  h.Advance(absl::Seconds(20));
  h.Complete(p[0], "index", h.TokenOf(first), "done");
  const Metrics metrics = Measured(h);
  EXPECT_EQ(metrics.leases_held, 0u);
  EXPECT_EQ(metrics.lease_waiters, 0u);
  EXPECT_EQ(metrics.lease_names, 1u) << "the outcome is kept";
  EXPECT_EQ(metrics.counters.lease_waits.count(), 2u);
  EXPECT_NEAR(metrics.counters.lease_waits.sum(), 20, 1e-6);
}

TEST(MetricsTest, LeasesOfALostHolderAreFree) {
  Harness h(Harness::ElasticOptions(1, 2));
  std::vector<Process> p = h.Formed(2);
  h.Acquire(p[0], "index", 1);
  h.Acquire(p[1], "index", 1);
  h.ReportExit(p[0], true, 9);
  EXPECT_EQ(Measured(h).leases_held, 0u);
  EXPECT_EQ(Measured(h).lease_waiters, 0u) << "its call has ended with the epoch";
}

// ---- Losses and other events ----

TEST(MetricsTest, AnExitIsALossByItsKind) {
  for (const bool signaled : {false, true}) {
    Harness h(2);
    std::vector<Process> p = h.Formed(2);
    h.ReportExit(p[1], signaled, signaled ? 9 : 1);
    ExpectOneLoss(h, signaled ? LossCause::kSignaled : LossCause::kExited);
    EXPECT_EQ(Measured(h).counters.epochs_broken, 1u);
    EXPECT_EQ(Measured(h).state, JobState::kFailed);
    EXPECT_EQ(In(MemberState::kLost, Measured(h)), 1u);
  }
}

TEST(MetricsTest, AMemberThatDoesNotReconnectIsCutOff) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[1]);
  h.Advance(kMinute);
  ExpectOneLoss(h, LossCause::kCutOff);
}

TEST(MetricsTest, AStoppedMemberThatDoesNotReconnectIsStopped) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId id = h.NextId();
  h.Absorb(id,
           h.coordinator().Step(h.now(), id,
                                ProcessStateReport{h.AttachOf(p[1]).job_id,
                                                   p[1].identity.incarnation, /*stopped=*/true}));
  EXPECT_EQ(In(MemberState::kStopped, Measured(h)), 1u);
  h.CloseStream(p[1]);
  h.Advance(kMinute);
  ExpectOneLoss(h, LossCause::kStopped);
}

TEST(MetricsTest, AMemberThatDoesNotWaitInLeaveHasLeftEarly) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Leave(p[1], absl::Seconds(5));
  h.Advance(absl::Seconds(6));
  ExpectOneLoss(h, LossCause::kLeftEarly);
  EXPECT_EQ(CountOf(WaitKind::kLeave, Measured(h).counters.timeouts), 1u);
}

TEST(MetricsTest, ASurvivorThatIsSilentHasNotRejoined) {
  Harness h(Harness::ElasticOptions(1, 3));
  std::vector<Process> p = h.Formed(3);
  h.ReportExit(p[2], true, 9);
  h.Rejoin(p[0]);
  h.Advance(h.coordinator().options().rejoin_timeout + absl::Seconds(1));
  const Metrics metrics = Measured(h);
  EXPECT_EQ(CountOf(LossCause::kSignaled, metrics.counters.losses), 1u);
  EXPECT_EQ(CountOf(LossCause::kNotRejoined, metrics.counters.losses), 1u);
}

TEST(MetricsTest, AMemberThatMissesTheRecoveryHasNotRecovered) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  EXPECT_EQ(Measured(h).state, JobState::kRecovering);
  EXPECT_EQ(In(MemberState::kAwaited, Measured(h)), 1u);
  h.Advance(h.coordinator().options().recovery_grace + absl::Seconds(1));
  ExpectOneLoss(h, LossCause::kNotRecovered);
  EXPECT_EQ(Measured(h).counters.epochs_formed, 0u) << "it has formed before";
}

TEST(MetricsTest, AProcessThatANewerOneReplacesIsALoss) {
  Harness h(2);
  JoinRequest request;
  request.rank = 0;
  Process old = h.Attached();
  h.Join(old, request);
  h.CloseStream(old);
  Process newer = h.Attached();
  h.Join(newer, request);
  ExpectOneLoss(h, LossCause::kReplaced);
}

TEST(MetricsTest, TimeOutsAreCountedByKindOfWait) {
  Harness h(2);
  Process alone = h.Attached();
  h.Join(alone, {}, absl::Seconds(5));
  h.Advance(absl::Seconds(6));
  EXPECT_EQ(CountOf(WaitKind::kPlace, Measured(h).counters.timeouts), 1u);

  Harness formed(2);
  std::vector<Process> p = formed.Formed(2);
  formed.Barrier(p[0], "", absl::Seconds(5));
  formed.Acquire(p[0], "index", 1);
  formed.Acquire(p[1], "index", 1, LeaseScope::kJob, absl::Seconds(5));
  formed.Advance(absl::Seconds(6));
  EXPECT_EQ(CountOf(WaitKind::kCollective, Measured(formed).counters.timeouts), 1u);
  EXPECT_EQ(CountOf(WaitKind::kLease, Measured(formed).counters.timeouts), 1u);
}

TEST(MetricsTest, AReconnectIsCountedAndIsNoLoss) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[1]);
  h.Attach(p[1]);
  EXPECT_EQ(Measured(h).counters.reattached, 1u);
  EXPECT_EQ(LossesBut(LossCause::kExited, Measured(h)), 0u);
}

TEST(MetricsTest, WarningsOfAStallAreCounted) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Barrier(p[0], "", absl::Hours(1));
  h.Advance(h.coordinator().options().stall_warning + absl::Seconds(1));
  EXPECT_EQ(Measured(h).counters.stall_warnings, 1u);
}

TEST(MetricsTest, StragglersMatchTheStatus) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  for (int i = 0; i < 20; ++i) {
    h.Barrier(p[0], "step");
    h.Advance(absl::Milliseconds(30));
    h.Barrier(p[1], "step");
  }
  ASSERT_THAT(Measured(h).stragglers, SizeIs(1));
  EXPECT_EQ(Measured(h).stragglers[0].rank, 1u);
  EXPECT_EQ(Measured(h).stragglers[0].node_id, "n0");
}

}  // namespace
}  // namespace muster::core
