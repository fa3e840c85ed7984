// Warnings of a stall: after a while without an arrival, and at each doubling of that time.

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<StillWaiting> StillWaitingEvents(const Harness& h, const Process& p) {
  return h.Events<StillWaiting>(p.stream);
}

TEST(StallTest, WaitingRanksAreToldAtTheWarningTimeAndAtEachDoubling) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  h.Barrier(p[0], "x", absl::Hours(1));
  h.Advance(absl::Milliseconds(9999));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), IsEmpty());
  h.Advance(absl::Milliseconds(1));
  ASSERT_THAT(StillWaitingEvents(h, p[0]), SizeIs(1));
  h.Advance(absl::Seconds(10));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), SizeIs(2));
  h.Advance(absl::Seconds(19));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), SizeIs(2));
  h.Advance(absl::Seconds(1));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), SizeIs(3));
  EXPECT_THAT(StillWaitingEvents(h, p[1]), IsEmpty()) << "it does not wait";
  const StillWaiting first = StillWaitingEvents(h, p[0])[0];
  EXPECT_EQ(first.operation, "Barrier('x') op 0 of the world");
  EXPECT_EQ(first.waited, absl::Seconds(10));
  EXPECT_THAT(first.text, AllOf(HasSubstr("has waited 10s; missing 3 of 4: ranks 1-3"),
                                HasSubstr("rank 1 (node 'n0', host host-n0, pid 1002)")));
  ASSERT_THAT(*first.missing, SizeIs(3));
  EXPECT_EQ((*first.missing)[2].rank, 3u);
  EXPECT_EQ((*first.missing)[2].activity, "no call so far");
}

TEST(StallTest, RanksThatStoppedWaitingAreNamedSeparately) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Barrier(p[0], "x", absl::Hours(1));
  h.Barrier(p[1], "x", absl::Seconds(1));
  h.Advance(absl::Seconds(10));
  ASSERT_THAT(StillWaitingEvents(h, p[0]), SizeIs(1));
  const StillWaiting event = StillWaitingEvents(h, p[0])[0];
  EXPECT_THAT(event.text, AllOf(HasSubstr("missing 1 of 3: rank 2 (node"),
                                HasSubstr("; arrived and stopped waiting: rank 1")));
  ASSERT_THAT(*event.missing, SizeIs(1));
  EXPECT_EQ((*event.missing)[0].rank, 2u);
  ASSERT_THAT(*event.gave_up, SizeIs(1));
  EXPECT_EQ((*event.gave_up)[0].rank, 1u);
}

TEST(StallTest, AnArrivalStartsTheTimeAnew) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Barrier(p[0], "x", absl::Hours(1));
  h.Advance(absl::Seconds(9));
  h.Barrier(p[1], "x", absl::Hours(1));
  h.Advance(absl::Seconds(9));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), IsEmpty());
  h.Advance(absl::Seconds(1));
  ASSERT_THAT(StillWaitingEvents(h, p[0]), SizeIs(1));
  EXPECT_THAT(StillWaitingEvents(h, p[1]), SizeIs(1));
  EXPECT_EQ(StillWaitingEvents(h, p[0])[0].waited, absl::Seconds(19)) << "since the first arrival";
}

// The last warning about the forming came at 320 s. The next one would have come at 640 s.
TEST(StallTest, ASlowFormingDoesNotSilenceWhatHangsAfterIt) {
  Harness h(2);
  std::vector<Process> p = {h.Attached(), h.Attached()};
  const WaiterId first = h.Join(p[0], {}, absl::Hours(1));
  h.Advance(absl::Seconds(330));
  ASSERT_THAT(StillWaitingEvents(h, p[0]), SizeIs(6));
  h.TakePlace(p[1], h.Join(p[1]));
  h.TakePlace(p[0], first);
  h.Advance(absl::Seconds(5));
  h.Barrier(p[0], "x", absl::Hours(1));
  h.Advance(absl::Seconds(10));
  ASSERT_THAT(StillWaitingEvents(h, p[0]), SizeIs(7));
  EXPECT_THAT(StillWaitingEvents(h, p[0]).back().text,
              HasSubstr("Barrier('x') op 0 of the world has waited 10s"));
}

TEST(StallTest, APendingLeaveDoesNotSilenceWhatHangsBesideIt) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Leave(p[0], absl::Hours(1));
  h.Advance(absl::Seconds(330));
  h.Send(h.Request(p[1], CollectiveKind::kBarrier, "", "pair", {1, 2}));
  h.Advance(absl::Seconds(10));
  ASSERT_THAT(StillWaitingEvents(h, p[1]), SizeIs(1));
  EXPECT_THAT(StillWaitingEvents(h, p[1])[0].text, HasSubstr("Barrier() op 0 of group 'pair'"));
}

TEST(StallTest, ALongRecoveryDoesNotSilenceWhatHangsAfterIt) {
  core::Options options = Harness::DefaultOptions(2);
  options.recovery_grace = absl::Hours(1);
  Harness h(options);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  h.Advance(absl::Seconds(330));
  h.Recover(p[1], 0);
  ASSERT_FALSE(h.Recovering());
  h.Barrier(p[1], "x", absl::Hours(1));
  h.Advance(absl::Seconds(10));
  ASSERT_THAT(StillWaitingEvents(h, p[1]), SizeIs(1));
  EXPECT_THAT(StillWaitingEvents(h, p[1])[0].text, HasSubstr("Barrier('x')"));
}

TEST(StallTest, JoinersAreToldHowManyHaveCome) {
  Harness h(3);
  Process p = h.Attached();
  h.Join(p, {}, absl::Hours(1));
  h.Advance(absl::Seconds(10));
  ASSERT_THAT(StillWaitingEvents(h, p), SizeIs(1));
  EXPECT_THAT(StillWaitingEvents(h, p)[0].text,
              HasSubstr("Join has waited 10s; 1 of 3 members have joined"));
}

TEST(StallTest, LeaversAreToldWhichRanksStay) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Leave(p[0], absl::Hours(1));
  h.Advance(absl::Seconds(10));
  ASSERT_THAT(StillWaitingEvents(h, p[0]), SizeIs(1));
  EXPECT_THAT(StillWaitingEvents(h, p[0])[0].text, HasSubstr("not leaving yet: rank 1"));
}

TEST(StallTest, SurvivorsAreToldWhichRanksHaveNotRejoined) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  h.Rejoin(p[0]);
  h.Advance(absl::Seconds(10));
  ASSERT_THAT(StillWaitingEvents(h, p[0]), SizeIs(1));
  EXPECT_EQ(StillWaitingEvents(h, p[0])[0].operation, "Rejoin");
  EXPECT_THAT(StillWaitingEvents(h, p[0])[0].text, HasSubstr("awaited: ranks 1-2"));
}

TEST(StallTest, ARecoveryNamesTheAbsentRanks) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  h.Advance(absl::Seconds(10));
  ASSERT_THAT(StillWaitingEvents(h, p[0]), SizeIs(1));
  EXPECT_THAT(StillWaitingEvents(h, p[0])[0].text,
              HasSubstr("waits for 1 of 2 members to attach again: rank 1"));
}

// Returns the log lines about time-outs, of the default level.
std::vector<std::string> Timeouts(const Harness& h) {
  std::vector<std::string> lines;
  for (const LogLine& line : h.log()) {
    const bool is_one = absl::StrContains(line.text, " waited 200ms") ||
                        absl::StrContains(line.text, " waited 0.2s") ||
                        absl::StrContains(line.text, " more time-outs of ");
    if (is_one && line.severity == Severity::kWarning) lines.push_back(line.text);
  }
  return lines;
}

TEST(TimeoutLogTest, ShortTimeoutsInALoopAreOneWarningAndACount) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest barrier = h.Request(p[0], CollectiveKind::kBarrier);
  for (int i = 0; i < 9; ++i) {
    barrier.call = h.Context(p[0], absl::Milliseconds(200));
    const WaiterId id = h.Send(barrier);
    h.Advance(absl::Milliseconds(200));
    EXPECT_EQ(h.StatusOf(id).code(), absl::StatusCode::kDeadlineExceeded);
  }
  EXPECT_THAT(Timeouts(h), ElementsAre(StartsWith("rank 0 (node 'n0', host host-n0, pid 1001): ")));
  CollectiveRequest other = h.Request(p[0], CollectiveKind::kBarrier, "", "pair", {0, 1});
  other.call = h.Context(p[0], absl::Milliseconds(200));
  h.Send(other);
  h.Advance(absl::Milliseconds(200));
  EXPECT_THAT(Timeouts(h), SizeIs(2)) << "another group is another matter";
  h.Advance(absl::Seconds(20));
  EXPECT_THAT(Timeouts(h), SizeIs(3));
  EXPECT_EQ(Timeouts(h).back(),
            "8 more time-outs of collectives of the world in the last 10s were left out here "
            "(--log-level debug shows them)");
  EXPECT_EQ(h.coordinator().NextDeadline(), absl::InfiniteFuture());
}

TEST(TimeoutLogTest, ALaterTimeoutIsLoggedAgain) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  CollectiveRequest barrier = h.Request(p[0], CollectiveKind::kBarrier);
  for (int i = 0; i < 3; ++i) {
    barrier.call = h.Context(p[0], absl::Milliseconds(200));
    h.Send(barrier);
    h.Advance(absl::Seconds(11));
  }
  EXPECT_THAT(Timeouts(h), SizeIs(3));
}

TEST(StallTest, NothingIsDueWhenNobodyWaits) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Barrier(p[0]);
  h.Barrier(p[1]);
  h.Advance(absl::Minutes(1));
  EXPECT_EQ(h.coordinator().NextDeadline(), absl::InfiniteFuture());
}

TEST(StallTest, ZeroDisablesTheWarnings) {
  core::Options options = Harness::DefaultOptions(2);
  options.stall_warning = absl::ZeroDuration();
  Harness h(options);
  std::vector<Process> p = h.Formed(2);
  h.Barrier(p[0], "x", absl::Hours(1));
  h.Advance(absl::Minutes(30));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), IsEmpty());
}

}  // namespace
}  // namespace muster::core
