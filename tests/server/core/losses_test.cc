// The story of a loss, and stopped processes.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

std::string Text(const Harness& h, WaiterId id) { return std::string(h.StatusOf(id).message()); }

MemberStatus StatusOf(Harness& h, uint32_t rank) {
  return h.coordinator().GetStatus(h.now()).members.at(rank);
}

WaiterId Report(Harness& h, const Process& p, bool stopped) {
  const WaiterId id = h.NextId();
  return h.Absorb(id, h.coordinator().ReportProcessState(
                          h.now(), id, {"train", p.identity.incarnation, stopped}));
}

TEST(LossesTest, TheCallThatTheLostWasInIsToldInTheSameWordsEverywhere) {
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

TEST(LossesTest, WhoWasComputingLastCompletedSomething) {
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

TEST(LossesTest, AStoppedProcessThatDoesNotAnswerIsLostForThatAndTold) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  Report(h, p[1], true);
  h.Advance(absl::Seconds(15));
  h.CloseStream(p[1]);  // keepalive
  h.Advance(absl::Seconds(2));
  EXPECT_THAT(Text(h, h.Barrier(p[0])),
              HasSubstr("its process has been stopped (SIGSTOP) for 17s and does not answer"));
  h.Attach(p[1]);
  EXPECT_EQ(h.EndOf(p[1].stream)->code(), absl::StatusCode::kAborted);
}

TEST(LossesTest, AReportOfAnUnknownProcessIsAccepted) {
  Harness h(2);
  EXPECT_TRUE(h.StatusOf(Report(h, h.New(), true)).ok());
}

}  // namespace
}  // namespace muster::core
