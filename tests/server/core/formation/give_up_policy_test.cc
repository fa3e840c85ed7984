// Launchers that do not replace a rank that failed before the job has formed.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kWhy[] = "rank 1 (pid 71, node n1) exited with status 3";
constexpr absl::Duration kPause = absl::Seconds(5);

JobState StateOf(Harness& h) { return h.coordinator().GetStatus(h.now()).state; }

TEST(GiveUpPolicyTest, EndsAllWaitsWithTheReason) {
  Harness h(2);
  Process waits = h.Attached();
  const WaiterId join = h.Join(waits, {}, absl::Minutes(30));
  h.ReportExit(h.New("n1"), false, 3, kWhy);
  h.Advance(kPause);
  EXPECT_EQ(h.StatusOf(join).code(), absl::StatusCode::kAborted) << "the one who waits is healthy";
  EXPECT_THAT(std::string(h.StatusOf(join).message()),
              AllOf(StartsWith("job 'train': the job has failed: "), HasSubstr(kWhy)));
  EXPECT_EQ(StateOf(h), JobState::kFailed);
  EXPECT_THAT(std::string(h.coordinator().Outcome()->message()), HasSubstr(kWhy));
  Process late = h.Attached();
  EXPECT_THAT(std::string(h.StatusOf(h.Join(late)).message()), HasSubstr(kWhy));
}

TEST(GiveUpPolicyTest, AppliesToARankThatHadJoined) {
  Harness h(3);
  Process waits = h.Attached();
  Process fails = h.Attached("n1");
  const WaiterId join = h.Join(waits);
  h.Join(fails);
  h.ReportExit(fails, true, 11, kWhy);
  h.Advance(kPause);
  EXPECT_EQ(h.StatusOf(join).code(), absl::StatusCode::kAborted);
}

TEST(GiveUpPolicyTest, AProcessThatCouldNotStartIsNoExit) {
  Harness h(2);
  const WaiterId id = h.NextId();
  ExitReport report{"train", h.New().identity.incarnation};
  report.given_up = "node n1: cannot start rank 1: no such file";
  report.started = false;
  h.Absorb(id, h.coordinator().Step(h.now(), id, report));
  EXPECT_TRUE(h.StatusOf(id).ok());
  h.Advance(kPause);
  EXPECT_THAT(std::string(h.coordinator().Outcome()->message()), HasSubstr(report.given_up));
}

TEST(GiveUpPolicyTest, IsCancelledIfAnotherProcessTakesThePlace) {
  Harness h(2);
  Process waits = h.Attached();
  const WaiterId join = h.Join(waits);
  h.ReportExit(h.New("n1"), false, 3, kWhy);
  h.Advance(kPause - absl::Milliseconds(1));
  Process again = h.Attached("n1");
  h.Join(again);
  EXPECT_TRUE(h.StatusOf(join).ok());
  h.Advance(absl::Minutes(1));
  EXPECT_EQ(StateOf(h), JobState::kRunning);
}

TEST(GiveUpPolicyTest, AnExitFollowedByARestartIsIgnored) {
  Harness h(2);
  Process waits = h.Attached();
  const WaiterId join = h.Join(waits, {}, absl::Minutes(30));
  h.ReportExit(h.New("n1"), false, 3);
  h.Advance(absl::Minutes(10));
  EXPECT_TRUE(h.Parked(join));
  Process again = h.Attached("n1");
  h.Join(again);
  EXPECT_TRUE(h.StatusOf(join).ok());
}

TEST(GiveUpPolicyTest, DoesNotEndAnElasticJob) {
  Harness h(Harness::ElasticOptions(2, 2));
  Process waits = h.Attached();
  const WaiterId join = h.Join(waits, {}, absl::Minutes(30));
  h.ReportExit(h.New("n1"), false, 3, kWhy);
  h.Advance(absl::Minutes(10));
  EXPECT_TRUE(h.Parked(join));
}

// As many processes as the job has places are known, so this one has no place to give up.
TEST(GiveUpPolicyTest, AnUnexpectedProcessChangesNothing) {
  Harness h(3);
  Process waits = h.Attached();
  const WaiterId join = h.Join(waits, {}, absl::Minutes(30));
  Process starts = h.New();
  Process starts_elsewhere = h.New("n1");
  h.ReportStarted(starts);
  h.ReportStarted(starts_elsewhere);
  h.ReportExit(h.New("n2"), false, 3, kWhy);
  h.Advance(absl::Minutes(10));
  EXPECT_EQ(StateOf(h), JobState::kForming);
  EXPECT_TRUE(h.Parked(join));
  EXPECT_THAT(h.log(), Contains(Field(&LogLine::text,
                                      AllOf(HasSubstr("none of the 3 places"), HasSubstr(kWhy)))));
  h.ReportExit(starts_elsewhere, false, 3, kWhy);
  h.Advance(kPause);
  EXPECT_EQ(h.StatusOf(join).code(), absl::StatusCode::kAborted) << "its launcher has said so";
}

// The places are taken, so a report that this process was started does not count.
TEST(GiveUpPolicyTest, AProcessBeyondTheLastPlaceIsNotExpected) {
  Harness h(2);
  Process waits = h.Attached();
  h.Join(waits);
  h.ReportStarted(h.New());
  Process late = h.New("n1");
  h.ReportStarted(late);
  h.Attach(late);
  h.ReportExit(late, false, 3, kWhy);
  h.Advance(kPause);
  EXPECT_EQ(StateOf(h), JobState::kForming);
}

TEST(GiveUpPolicyTest, ALaterProcessMovesUpWhenAnotherEnds) {
  Harness h(2);
  Process waits = h.Attached();
  h.Join(waits);
  Process first = h.New("n1");
  Process second = h.New("n1");
  h.ReportStarted(first);
  h.ReportStarted(second);
  h.ReportExit(first, false, 3);
  h.ReportExit(h.New("n2"), false, 3, kWhy);
  h.Advance(kPause);
  EXPECT_EQ(StateOf(h), JobState::kForming);
  h.ReportExit(second, false, 3, kWhy);
  h.Advance(kPause);
  EXPECT_EQ(StateOf(h), JobState::kFailed);
}

TEST(GiveUpPolicyTest, AnEndedProcessLeavesItsPlaceToTheNext) {
  Harness h(2);
  Process waits = h.Attached();
  h.Join(waits);
  Process first = h.New("n1");
  h.ReportStarted(first);
  h.ReportExit(first, false, 3);
  Process second = h.New("n1");
  h.ReportStarted(second);
  h.ReportExit(second, false, 3, kWhy);
  h.Advance(kPause);
  EXPECT_EQ(StateOf(h), JobState::kFailed);
}

TEST(GiveUpPolicyTest, ADisconnectedProcessLeavesItsPlaceToTheNext) {
  Harness h(2);
  Process waits = h.Attached();
  h.Join(waits);
  Process gone = h.Attached("n1");
  h.CloseStream(gone);
  h.Advance(absl::Minutes(1));
  h.ReportExit(h.New("n1"), false, 3, kWhy);
  h.Advance(kPause);
  EXPECT_EQ(StateOf(h), JobState::kFailed);
}

TEST(GiveUpPolicyTest, DoesNotApplyOnceAnEpochHasFormed) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.ReportExit(h.New("n1"), false, 3, kWhy);
  h.Advance(absl::Minutes(1));
  EXPECT_EQ(StateOf(h), JobState::kRunning);
  h.ReportExit(p[1], false, 3, kWhy);
  EXPECT_THAT(std::string(h.coordinator().Outcome()->message()),
              HasSubstr("rank 1 (node 'n0', host host-n0, pid 1002) was lost at"));
}

// A process that fails while the daemon is away is a member of an epoch, which the others claim.
TEST(GiveUpPolicyTest, ARestartedDaemonHearsOfTheEpochFirst) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  h.ReportExit(p[1], false, 3, kWhy);
  h.Advance(absl::Seconds(4));
  h.Recover(p[0], 0);
  h.Advance(absl::Seconds(4));
  EXPECT_EQ(StateOf(h), JobState::kRecovering);
  h.Recover(p[2], 0);
  EXPECT_THAT(std::string(h.StatusOf(h.Barrier(p[0])).message()),
              AllOf(HasSubstr("rank 1 (node 'n0', "), HasSubstr("exited with status 3")));
}

TEST(GiveUpPolicyTest, AnEpochClaimedLaterIsStillAdopted) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  h.ReportExit(p[1], false, 3, kWhy);
  h.Advance(kPause);
  EXPECT_EQ(StateOf(h), JobState::kFailed);
  h.Recover(p[0], 0);
  h.Recover(p[2], 0);
  EXPECT_THAT(std::string(h.StatusOf(h.Barrier(p[0])).message()),
              HasSubstr("rank 1 (node 'n0', host host-n0, pid 1002) was lost at"));
}

TEST(GiveUpPolicyTest, ProcessesThatEndBecauseOfItAreNotFailures) {
  Harness h(3);
  Process waits = h.Attached();
  h.Join(waits);
  h.ReportExit(h.New("n1"), false, 3, kWhy);
  h.Advance(kPause);
  const size_t before = h.log().size();
  h.CloseStream(waits);
  h.ReportExit(waits, false, 75);
  EXPECT_THAT(h.coordinator().GetStatus(h.now()).recent_failures, IsEmpty());
  EXPECT_THAT(h.coordinator().GetStatus(h.now()).members, IsEmpty());
  for (size_t i = before; i < h.log().size(); ++i) {
    EXPECT_EQ(h.log()[i].severity, Severity::kDebug) << h.log()[i].text;
  }
}

}  // namespace
}  // namespace muster::core
