// Tests of the command line's words for ranks, ends of processes and outcomes of runs.

#include "client/launcher/outcome/run_outcome.h"

#include <signal.h>

#include <cerrno>

#include "client/launcher/outcome/process_end.h"
#include "client/launcher/outcome/rank_ranges.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr bool kOnItsOwn = false;
constexpr bool kAfterOurSignal = true;

TEST(RankRangesTest, JoinsNeighbours) {
  EXPECT_EQ(RankRanges({}), "");
  EXPECT_EQ(RankRanges({3}), "3");
  EXPECT_EQ(RankRanges({5, 0, 2, 1}), "0-2,5");
  EXPECT_EQ(RankRanges({7, 7, 8}), "7-8");
  EXPECT_EQ(NamedRanks({4}), "rank 4");
  EXPECT_EQ(NamedRanks({0, 2}), "ranks 0,2");
}

TEST(StartErrorTest, DistinguishesResourceExhaustion) {
  for (const int error : {EAGAIN, ENOMEM, EMFILE, ENFILE}) {
    const absl::Status status = StartError(error, "fork");
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("this node has no room for it"));
  }
  const absl::Status other = StartError(EACCES, "fork");
  EXPECT_TRUE(absl::IsPermissionDenied(other)) << other;
  EXPECT_THAT(std::string(other.message()), Not(HasSubstr("room")));
}

TEST(ProcessEndTest, DescribesExitsAndSignals) {
  EXPECT_EQ(Describe({false, 3}), "exited with status 3");
  EXPECT_EQ(Describe({true, SIGKILL}), "was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(ShellStatus({false, 3}), 3);
  EXPECT_EQ(ShellStatus({true, SIGSEGV}), 139);
  EXPECT_TRUE((ProcessEnd{false, 0}).clean());
  EXPECT_FALSE((ProcessEnd{false, 1}).clean());
  EXPECT_FALSE((ProcessEnd{true, SIGTERM}).clean());
}

RunOutcome Outcome() { return RunOutcome("digits", "n0"); }

TEST(RunOutcomeTest, SuccessHasNoSummary) {
  RunOutcome outcome = Outcome();
  outcome.Add({0, 10, {false, 0}, kOnItsOwn});
  EXPECT_EQ(outcome.ExitStatus(), 0);
  EXPECT_EQ(outcome.Summary(), "");
}

TEST(RunOutcomeTest, TheFirstFailureCounts) {
  RunOutcome outcome = Outcome();
  outcome.Add({0, 10, {false, 0}, kOnItsOwn});
  outcome.Add({2, 12, {true, SIGKILL}, kOnItsOwn});
  outcome.Add({1, 11, {false, 1}, kOnItsOwn});
  outcome.Add({5, 15, {false, 7}, kOnItsOwn});
  outcome.Add({3, 13, {false, 1}, kOnItsOwn});
  outcome.Add({4, 14, {true, SIGTERM}, kAfterOurSignal});
  EXPECT_EQ(outcome.ExitStatus(), 137);
  EXPECT_EQ(outcome.Summary(),
            "job digits failed: rank 2 (pid 12, node n0) was killed by signal 9 (SIGKILL); then "
            "ranks 1,3 exited with status 1; then rank 5 exited with status 7; ended by the "
            "launcher: rank 4");
}

TEST(RunOutcomeTest, SeveralRanksWereKilled) {
  RunOutcome outcome = Outcome();
  outcome.Add({3, 13, {true, SIGSEGV}, kOnItsOwn});
  outcome.Add({0, 10, {true, SIGSEGV}, kOnItsOwn});
  outcome.Add({1, 11, {true, SIGSEGV}, kOnItsOwn});
  EXPECT_EQ(outcome.Summary(),
            "job digits failed: rank 3 (pid 13, node n0) was killed by signal 11 (SIGSEGV); then "
            "ranks 0-1 were killed by signal 11 (SIGSEGV)");
}

TEST(RunOutcomeTest, AnInterruptBlamesNoRank) {
  RunOutcome outcome = Outcome();
  outcome.Interrupted(SIGINT);
  outcome.Interrupted(SIGTERM);
  outcome.Add({1, 11, {true, SIGINT}, kAfterOurSignal});
  outcome.Add({0, 10, {true, SIGKILL}, kAfterOurSignal});
  EXPECT_EQ(outcome.ExitStatus(), 130);
  EXPECT_EQ(outcome.Summary(), "job digits was ended by SIGINT; ended by the launcher: ranks 0-1");
}

TEST(RunOutcomeTest, RanksThatEndWellOnASignalMakeASuccess) {
  RunOutcome outcome = Outcome();
  outcome.Interrupted(SIGTERM);
  outcome.Add({0, 10, {false, 0}, kAfterOurSignal});
  EXPECT_EQ(outcome.ExitStatus(), 0);
  EXPECT_EQ(outcome.Summary(), "");
}

TEST(RunOutcomeTest, ALostCoordinatorIsTheFailure) {
  RunOutcome outcome = Outcome();
  outcome.CoordinatorLost({true, SIGSEGV});
  outcome.Add({0, 10, {true, SIGTERM}, kAfterOurSignal});
  EXPECT_EQ(outcome.ExitStatus(), 76);
  EXPECT_EQ(outcome.Summary(),
            "job digits failed: its coordinator was killed by signal 11 (SIGSEGV); ended by the "
            "launcher: rank 0");
}

TEST(RunOutcomeTest, AFailureElsewhereFailsTheRun) {
  RunOutcome outcome = Outcome();
  outcome.FailedElsewhere("rank 7 (node 'n1') was lost");
  outcome.Add({0, 10, {false, 0}, kAfterOurSignal});
  outcome.Add({1, 11, {true, SIGTERM}, kAfterOurSignal});
  EXPECT_EQ(outcome.ExitStatus(), 75);
  EXPECT_EQ(outcome.Summary(),
            "job digits failed: rank 7 (node 'n1') was lost; ended by the launcher: ranks 0-1");
}

// Ranks fail when they no longer reach those of the other node.
TEST(RunOutcomeTest, AnMpiWorldThatEndedElsewhereIsTheCause) {
  RunOutcome outcome = Outcome();
  outcome.WorldEndedElsewhere("rank 7 (pid 9, node n1) called MPI_Abort(5)", 5);
  outcome.Add({0, 10, {true, SIGABRT}});
  outcome.Add({1, 11, {true, SIGTERM}, kAfterOurSignal});
  EXPECT_EQ(outcome.ExitStatus(), 5);
  EXPECT_EQ(outcome.Summary(),
            "job digits failed: rank 7 (pid 9, node n1) called MPI_Abort(5); then rank 0 was "
            "killed by signal 6 (SIGABRT); ended by the launcher: rank 1");
  outcome.WorldEndedElsewhere("rank 7 (pid 9, node n1) called MPI_Abort(256)", 256);
  EXPECT_EQ(outcome.ExitStatus(), 1);
  outcome.WorldEndedElsewhere("rank 7 (pid 9, node n1) exited with status 3", std::nullopt);
  EXPECT_EQ(outcome.ExitStatus(), 75);
}

TEST(RunOutcomeTest, AHealthyRankIsNotGuilty) {
  RunOutcome outcome = Outcome();
  outcome.Add({0, 10, {false, 75}, kOnItsOwn});
  outcome.Add({2, 12, {false, 76}, kOnItsOwn});
  outcome.Add({1, 11, {false, 77}, kOnItsOwn});
  outcome.Add({3, 13, {false, 75}, kOnItsOwn});
  EXPECT_EQ(outcome.ExitStatus(), 77);
  EXPECT_EQ(outcome.Summary(),
            "job digits failed: rank 1 (pid 11, node n0) exited with status 77; then ranks 0,3 "
            "exited with status 75; then rank 2 exited with status 76");
}

TEST(RunOutcomeTest, WithoutAGuiltyRankAHealthyOneIsReported) {
  RunOutcome outcome = Outcome();
  outcome.Add({1, 11, {false, 75}, kOnItsOwn});
  outcome.Add({0, 10, {true, SIGTERM}, kAfterOurSignal});
  EXPECT_EQ(outcome.ExitStatus(), 75);
  EXPECT_EQ(outcome.Summary(),
            "job digits failed: rank 1 (pid 11, node n0) exited with status 75, because of another "
            "rank; ended by the launcher: rank 0");
}

TEST(RunOutcomeTest, ExitZeroWithoutLeaveIsGuilty) {
  RunOutcome outcome = Outcome();
  outcome.Add({0, 10, {false, 0}, kOnItsOwn});
  outcome.Add({1, 11, {false, 75}, kOnItsOwn});
  EXPECT_EQ(outcome.clean_ends(), 1);
  outcome.Find(10)->without_leave = true;
  EXPECT_EQ(outcome.clean_ends(), 0);
  EXPECT_EQ(outcome.ExitStatus(), 1);
  EXPECT_EQ(outcome.Summary(),
            "job digits failed: rank 0 (pid 10, node n0) ended with 0 without Leave(); call "
            "job->Leave() before main returns; then rank 1 exited with status 75");
}

TEST(RunOutcomeTest, TheSummaryQuotesTheCoordinator) {
  RunOutcome outcome = Outcome();
  outcome.Add({2, 12, {true, SIGKILL}, kOnItsOwn});
  outcome.Find(12)->loss = "rank 2 (node 'n0', host h, pid 12) was lost at 10:00:00.000Z: ...";
  EXPECT_EQ(outcome.Find(13), nullptr);
  EXPECT_EQ(outcome.ExitStatus(), 137);
  EXPECT_EQ(outcome.Summary(),
            "job digits failed: rank 2 (node 'n0', host h, pid 12) was lost at 10:00:00.000Z: ...");
}

TEST(RunOutcomeTest, UnreadOutputIsLikeSigpipe) {
  RunOutcome outcome = Outcome();
  outcome.ReaderGone();
  outcome.Add({0, 10, {true, SIGTERM}, kAfterOurSignal});
  EXPECT_EQ(outcome.ExitStatus(), 128 + SIGPIPE);
}

TEST(RunOutcomeTest, AnUnneededCoordinatorMayBeLost) {
  RunOutcome outcome = Outcome();
  outcome.CoordinatorLost({false, 1});
  outcome.Add({0, 10, {false, 0}, kOnItsOwn});
  EXPECT_EQ(outcome.ExitStatus(), 0);
}

}  // namespace
}  // namespace muster::launcher
