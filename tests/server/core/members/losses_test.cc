// How losses and stopped processes are reported.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Text(const Harness& h, WaiterId id) { return std::string(h.StatusOf(id).message()); }

MemberStatus StatusOf(Harness& h, uint32_t rank) {
  return h.coordinator().GetStatus(h.now()).members.at(rank);
}

WaiterId Report(Harness& h, const Process& p, bool stopped) {
  const WaiterId id = h.NextId();
  return h.Absorb(
      id, h.coordinator().Step(h.now(), id,
                               ProcessStateReport{"train", p.identity.incarnation, stopped}));
}

TEST(LossesTest, TheLostMembersCallIsDescribedTheSameEverywhere) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  CollectiveRequest gather = h.Request(p[1], CollectiveKind::kAllGather);
  gather.label = "x";
  const WaiterId waits = h.Send(gather);
  h.Advance(absl::Seconds(3));
  h.Cancel(waits);  // its connection ends, and the call with it
  h.CloseStream(p[1]);
  h.Advance(absl::Seconds(2));
  const std::string story = "in AllGather('x') op 0 of the world for 3s";
  EXPECT_THAT(Text(h, h.Barrier(p[0])), HasSubstr(story));
  EXPECT_EQ(h.BrokenEvents(p[2].stream).at(0).failures.at(0).activity, story);
  EXPECT_THAT(h.coordinator().GetStatus(h.now()).recent_failures.at(0).activity, story);
  EXPECT_THAT(h.log(), Contains(Field(&LogLine::text, HasSubstr(story))));
}

// The launcher's report may arrive before the stream ends.
TEST(LossesTest, ACallThatEndsWithItsProcessIsItsLatestCall) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId waits = h.Barrier(p[1]);
  h.Advance(absl::Seconds(3));
  h.Cancel(waits);
  h.ReportExit(p[1], true, 9);
  EXPECT_THAT(Text(h, h.Barrier(p[0])), HasSubstr("in Barrier() op 0 of the world for 3s"));
}

// Returns the log lines of the default level after the first `before` lines.
std::vector<std::string> LinesSince(const Harness& h, size_t before) {
  std::vector<std::string> lines;
  for (size_t i = before; i < h.log().size(); ++i) {
    if (h.log()[i].severity >= Severity::kInfo) lines.push_back(h.log()[i].text);
  }
  return lines;
}

// Ends rank 3, and all other ranks because of it. Some are reported; others only disappear.
void EndAllBecauseOf3(Harness& h, std::vector<Process>& p) {
  h.CloseStream(p[3]);
  h.ReportExit(p[3], true, 9);
  for (Process& process : p) {
    if (process.rank == 3) continue;
    h.CloseStream(process);
    if (process.rank % 2 == 0) h.ReportExit(process, true, 15);
  }
  h.Advance(absl::Seconds(5));
}

TEST(LossesTest, ADeathAndItsConsequencesAreOneLogLine) {
  Harness h(64);
  std::vector<Process> p = h.Formed(64);
  const size_t before = h.log().size();
  EndAllBecauseOf3(h, p);
  EXPECT_THAT(LinesSince(h, before),
              ElementsAre(AllOf(HasSubstr("the job has failed: rank 3 (node 'n0', host "),
                                HasSubstr("killed by signal 9 (SIGKILL)"))));
}

TEST(LossesTest, AnElasticJobLogsOneLineForTheEpochAndOneForTheEnd) {
  Harness h(Harness::ElasticOptions(64, 64));
  std::vector<Process> p = h.Formed(64);
  const size_t before = h.log().size();
  EndAllBecauseOf3(h, p);
  EXPECT_THAT(LinesSince(h, before),
              ElementsAre(AllOf(HasSubstr("the epoch is broken: rank 3 (node 'n0', host "),
                                HasSubstr("killed by signal 9 (SIGKILL)"))));
  h.Advance(h.coordinator().options().rejoin_timeout);
  EXPECT_THAT(LinesSince(h, before), ElementsAre(HasSubstr("the epoch is broken: rank 3"),
                                                 HasSubstr("the job has failed: no new epoch")));
}

TEST(LossesTest, TheNextEpochNamesTheMembersThatAreGone) {
  Harness h(Harness::ElasticOptions(2, 4));
  std::vector<Process> p = h.Formed(4);
  h.ReportExit(p[1], true, 9);
  h.ReportExit(p[3], false, 3);
  h.Rejoin(p[0]);
  h.Rejoin(p[2]);
  h.Advance(h.coordinator().options().settle);
  EXPECT_THAT(h.log(),
              Contains(Field(&LogLine::text,
                             AllOf(HasSubstr("formed: 2 members on 1 node"),
                                   HasSubstr("; gone since the previous epoch: ranks 1,3")))));
}

TEST(LossesTest, AClaimedReasonNamesTheJobOnce) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.ReportExit(p[1], true, 9);
  Claim claim = h.ClaimOf(p[0], 0);
  claim.broken = BrokenClaim{h.BrokenEvents(p[0].stream).at(0).reason, {}};
  h.Restart();
  h.AttachWithRoster(p[0], claim);
  h.Advance(absl::Minutes(2));
  for (const LogLine& line : h.log()) EXPECT_THAT(line.text, Not(HasSubstr("job 'train'")));
  EXPECT_THAT(std::string(h.coordinator().Outcome()->message()),
              StartsWith("job 'train': the job has failed: rank 1 (node 'n0'"));
  Process late = h.Attached();
  EXPECT_THAT(Text(h, h.Join(late)),
              StartsWith("job 'train': the job has failed: rank 1 (node 'n0'"));
}

TEST(LossesTest, AComputingMemberIsDescribedByItsLastCall) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Barrier(p[0], "load");
  h.Barrier(p[1], "load");
  h.Advance(absl::Seconds(40));
  EXPECT_EQ(StatusOf(h, 1).activity, "last completed Barrier('load') op 0 of the world 40s ago");
  h.ReportExit(p[1], true, 11);
  EXPECT_THAT(Text(h, h.Barrier(p[0])),
              AllOf(HasSubstr("killed by signal 11 (SIGSEGV)"),
                    HasSubstr("last completed Barrier('load') op 0 of the world 40s before")));
}

TEST(LossesTest, AStoppedProcessIsShownAtOnceAndIsNotLostForIt) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  EXPECT_TRUE(h.StatusOf(Report(h, p[1], true)).ok());
  EXPECT_EQ(StatusOf(h, 1).state, MemberState::kStopped);
  h.Advance(absl::Hours(1));
  EXPECT_EQ(StatusOf(h, 1).state, MemberState::kStopped);
  Report(h, p[1], false);
  EXPECT_EQ(StatusOf(h, 1).state, MemberState::kRunning);
}

TEST(LossesTest, AStoppedProcessThatDoesNotAnswerIsReportedAsStopped) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  Report(h, p[1], true);
  h.Advance(absl::Seconds(15));
  h.CloseStream(p[1]);  // by keepalive
  h.Advance(absl::Seconds(2));
  EXPECT_THAT(Text(h, h.Barrier(p[0])),
              HasSubstr("its process has been stopped (SIGSTOP) for 17s and does not answer"));
  h.Attach(p[1]);
  EXPECT_EQ(h.EndOf(p[1].stream)->code(), absl::StatusCode::kAborted);
}

// Returns the answer to a launcher's report of an exit.
ExitAnswer AnswerTo(const Harness& h, WaiterId report) {
  EXPECT_TRUE(h.StatusOf(report).ok());
  const auto* answer = std::get_if<ExitAnswer>(&h.ReplyTo(report).answer);
  return answer == nullptr ? ExitAnswer{false, "none"} : *answer;
}

TEST(LossesTest, TheLauncherIsToldThatItsRankHasNotCalledLeave) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId waits = h.Barrier(p[1]);
  const ExitAnswer answer = AnswerTo(h, h.ReportExit(p[0], /*signaled=*/false, 0));
  EXPECT_TRUE(answer.without_leave);
  EXPECT_THAT(answer.loss,
              AllOf(StartsWith("rank 0 (node 'n0', host "), HasSubstr(") was lost at "),
                    HasSubstr(": ended with 0 without Leave(); call job->Leave() before main")));
  EXPECT_THAT(Text(h, waits), HasSubstr(answer.loss)) << "the same words";
}

// A launcher repeats a report that was not answered in time, although the first one has arrived.
TEST(LossesTest, AReportThatComesAgainIsAnsweredAsTheFirst) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const ExitAnswer first = AnswerTo(h, h.ReportExit(p[0], /*signaled=*/false, 0));
  h.Advance(absl::Seconds(1));
  const ExitAnswer second = AnswerTo(h, h.ReportExit(p[0], /*signaled=*/false, 0));
  EXPECT_TRUE(second.without_leave);
  EXPECT_EQ(second.loss, first.loss);
  EXPECT_EQ(AnswerTo(h, h.ReportExit(p[1], /*signaled=*/false, 0)).loss, "none")
      << "which is no cause of the failure";
}

TEST(LossesTest, IfAllRanksForgetLeaveTheFirstIsBlamed) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  EXPECT_TRUE(AnswerTo(h, h.ReportExit(p[1], /*signaled=*/false, 0)).without_leave);
  EXPECT_EQ(AnswerTo(h, h.ReportExit(p[0], /*signaled=*/false, 0)).loss, "none")
      << "the job had failed by then";
  EXPECT_THAT(h.coordinator().GetStatus(h.now()).reason,
              AllOf(StartsWith("rank 1 "), HasSubstr("without Leave()")));
}

TEST(LossesTest, AProcessThatMayEndIsNotToBlame) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  EXPECT_EQ(AnswerTo(h, h.ReportExit(h.New(), false, 0)).loss, "none") << "it never came";
  Process newcomer = h.Attached();
  EXPECT_EQ(AnswerTo(h, h.ReportExit(newcomer, false, 0)).loss, "none") << "it has no place";
  h.Leave(p[0]);
  h.Leave(p[1]);
  EXPECT_EQ(AnswerTo(h, h.ReportExit(p[0], false, 0)).loss, "none") << "it has left";
}

TEST(LossesTest, ARankThatEndsInTheMiddleOfLeavingHasCalledIt) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Leave(p[0]);
  const ExitAnswer answer = AnswerTo(h, h.ReportExit(p[0], /*signaled=*/false, 0));
  EXPECT_FALSE(answer.without_leave);
  EXPECT_THAT(answer.loss, HasSubstr("ended with 0 before every other rank had called Leave()"));
}

TEST(LossesTest, AFailureIsToBlameOnItsStatusAndNotOnLeave) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const ExitAnswer answer = AnswerTo(h, h.ReportExit(p[0], /*signaled=*/false, 3));
  EXPECT_FALSE(answer.without_leave);
  EXPECT_THAT(answer.loss, HasSubstr(": exited with status 3; "));
}

// The coordinator's log need not repeat what `muster run` prints itself.
TEST(LossesTest, AnExitThatTheLauncherLogsIsMarked) {
  for (const bool logged_by_launcher : {false, true}) {
    Harness h(2);
    std::vector<Process> p = h.Formed(2);
    ExitReport report{"train", p[0].identity.incarnation, /*signaled=*/true, 9};
    report.logged_by_launcher = logged_by_launcher;
    const WaiterId id = h.NextId();
    h.Absorb(id, h.coordinator().Step(h.now(), id, report));
    EXPECT_THAT(h.log(), Contains(AllOf(Field(&LogLine::text, HasSubstr("the job has failed")),
                                        Field(&LogLine::severity, Severity::kError),
                                        Field(&LogLine::logged_by_launcher, logged_by_launcher))));
  }
}

TEST(LossesTest, AReportOfAnUnknownProcessIsAccepted) {
  Harness h(2);
  EXPECT_TRUE(h.StatusOf(Report(h, h.New(), true)).ok());
}

}  // namespace
}  // namespace muster::core
