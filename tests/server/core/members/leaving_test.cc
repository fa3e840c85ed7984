// Leave: it waits for all ranks, and ranks that still need a leaving one are told.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Text(const Harness& h, WaiterId id) { return std::string(h.StatusOf(id).message()); }

TEST(LeavingTest, LeaveWaitsForAll) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId l0 = h.Leave(p[0]);
  EXPECT_TRUE(h.Parked(l0));
  EXPECT_FALSE(h.coordinator().Outcome().has_value());
  const WaiterId l1 = h.Leave(p[1]);
  EXPECT_TRUE(h.StatusOf(l0).ok() && h.StatusOf(l1).ok());
  EXPECT_EQ(h.coordinator().Outcome(), absl::OkStatus());
  h.CloseStream(p[0]);
  h.CloseStream(p[1]);
  h.Advance(absl::Minutes(1));
  EXPECT_EQ(h.coordinator().Outcome(), absl::OkStatus()) << "closing after leaving is no loss";
  EXPECT_TRUE(h.coordinator().Quiet());
}

TEST(LeavingTest, RanksThatNeedALeaverAreToldAtOnce) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  const WaiterId b0 = h.Barrier(p[0], "x");
  h.Leave(p[2]);
  EXPECT_EQ(h.StatusOf(b0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(h, b0),
              AllOf(HasSubstr("Barrier('x')"), HasSubstr("rank 2 of the world has called Leave")));
  EXPECT_THAT(Text(h, h.Barrier(p[1], "x")), HasSubstr("rank 2 of the world has called Leave"));
  const WaiterId own = h.Barrier(p[2]);
  EXPECT_THAT(Text(h, own), HasSubstr("no collective or lease may follow it"));
}

TEST(LeavingTest, GroupsWithoutTheLeaverGoOn) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Leave(p[2]);
  h.Send(h.Request(p[0], CollectiveKind::kBarrier, "", "g", {0, 1}));
  EXPECT_TRUE(h.StatusOf(h.Send(h.Request(p[1], CollectiveKind::kBarrier, "", "g", {0, 1}))).ok());
}

TEST(LeavingTest, ABreakAnswersALeaverOk) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  const WaiterId l0 = h.Leave(p[0]);
  h.ReportExit(p[1], true, 9);
  EXPECT_TRUE(h.StatusOf(l0).ok());
  EXPECT_TRUE(h.StatusOf(h.Leave(p[2])).ok()) << "a broken epoch has nothing that is needed";
}

TEST(LeavingTest, LeavingPastTheDeadlineCountsAsLoss) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId l0 = h.Leave(p[0], absl::Seconds(5));
  h.Advance(absl::Seconds(5));
  EXPECT_EQ(h.StatusOf(l0).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(h, l0), HasSubstr("not leaving yet: rank 1"));
  EXPECT_THAT(Text(h, h.Barrier(p[1])),
              AllOf(HasSubstr("rank 0"), HasSubstr("its Leave() timed out before all others")));
}

TEST(LeavingTest, ARetryAfterLeavingIsOk) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  EXPECT_TRUE(h.StatusOf(h.Leave(p[0])).ok());
  h.CloseStream(p[0]);
  h.Attach(p[0]);
  EXPECT_TRUE(h.StatusOf(h.Leave(p[0])).ok());
}

TEST(LeavingTest, AFinishedJobRefusesNewcomers) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  h.Leave(p[0]);
  Process late = h.Attached();
  EXPECT_THAT(Text(h, h.Join(late)), HasSubstr("the job is finished"));
}

}  // namespace
}  // namespace muster::core
