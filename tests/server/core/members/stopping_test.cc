// Requested stops: all ranks see a stop at the same collective of the world, over restarts too.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

WaiterId BarrierAt(Harness& h, Process& p, uint64_t sequence) {
  p.next[""] = sequence;
  return h.Barrier(p);
}

bool SaysStop(const Harness& h, WaiterId id) {
  EXPECT_TRUE(h.StatusOf(id).ok()) << h.StatusOf(id);
  return std::get<CollectiveAnswer>(h.ReplyTo(id).answer).stop_requested;
}

TEST(StoppingTest, AllRanksSeeTheStopAtTheSameCollective) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId before = h.Barrier(p[0]);
  EXPECT_FALSE(SaysStop(h, h.Barrier(p[1])));
  EXPECT_FALSE(SaysStop(h, before));
  const WaiterId a = h.Barrier(p[0]);
  EXPECT_TRUE(h.StatusOf(h.Call(p[1], StopRequest())).ok());
  EXPECT_TRUE(h.StatusOf(h.Call(p[1], StopRequest())).ok()) << "twice is once";
  EXPECT_TRUE(SaysStop(h, h.Barrier(p[1])));
  EXPECT_TRUE(SaysStop(h, a)) << "it was parked before, but completed after";
  h.Barrier(p[0]);
  EXPECT_TRUE(SaysStop(h, h.Barrier(p[1]))) << "it stays";
}

TEST(StoppingTest, ARetryOfTheCollectiveBeforeDoesNotSeeIt) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Barrier(p[0]);
  h.Barrier(p[1]);
  h.Call(p[0], StopRequest());
  EXPECT_FALSE(SaysStop(h, BarrierAt(h, p[1], 0)));
}

TEST(StoppingTest, OtherGroupsDoNotCarryIt) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Call(p[0], StopRequest());
  h.Send(h.Request(p[0], CollectiveKind::kBarrier, "", "pair", {0, 1}));
  EXPECT_FALSE(SaysStop(h, h.Send(h.Request(p[1], CollectiveKind::kBarrier, "", "pair", {0, 1}))));
}

TEST(StoppingTest, ARestartKeepsTheCollectiveOfTheStop) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Claim saw = h.ClaimOf(p[0], 5);
  saw.stop_sequence = 4;
  h.Attach(p[0], saw);
  h.Recover(p[1], 4);
  EXPECT_TRUE(SaysStop(h, BarrierAt(h, p[1], 4))) << "as rank 0 saw it";
  BarrierAt(h, p[0], 5);
  EXPECT_TRUE(SaysStop(h, BarrierAt(h, p[1], 5)));
}

TEST(StoppingTest, ACollectiveThatSomeoneCompletedWithoutItDoesNotCarryIt) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Claim asked = h.ClaimOf(p[1], 4);
  asked.stop_asked = true;
  h.Attach(p[1], asked);
  h.Recover(p[0], 5);
  EXPECT_FALSE(SaysStop(h, BarrierAt(h, p[1], 4)));
  const WaiterId next = BarrierAt(h, p[0], 5);
  EXPECT_TRUE(SaysStop(h, BarrierAt(h, p[1], 5)));
  EXPECT_TRUE(SaysStop(h, next));
}

TEST(StoppingTest, AStopThatNobodySawBelongsToTheNextEpochToo) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  h.Call(p[0], StopRequest());
  h.ReportExit(p[2], true, 9);
  const WaiterId r0 = h.Rejoin(p[0]), r1 = h.Rejoin(p[1]);
  h.Advance(absl::Seconds(5));
  h.TakePlace(p[0], r0);
  h.TakePlace(p[1], r1);
  h.Barrier(p[0]);
  EXPECT_TRUE(SaysStop(h, h.Barrier(p[1])));
}

TEST(StoppingTest, AProcessThatHasNotJoinedCannotRequestAStop) {
  Harness h(2);
  Process p = h.Attached();
  EXPECT_EQ(h.StatusOf(h.Call(p, StopRequest())).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace muster::core
