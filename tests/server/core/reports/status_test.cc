// The status that GetStatus() returns, as `muster status` shows it.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(StatusTest, AFormingJobSaysHowManyAreThere) {
  Harness h(3);
  Process a = h.Attached();
  h.Join(a);
  h.Advance(absl::Seconds(4));
  const JobStatus status = h.coordinator().GetStatus(h.now());
  EXPECT_EQ(status.state, JobState::kForming);
  EXPECT_EQ(status.reason, "1 of 3 members have joined");
  ASSERT_THAT(status.members, SizeIs(1));
  EXPECT_EQ(status.members[0].state, MemberState::kJoining);
  EXPECT_EQ(status.members[0].waiting_in, "Join");
  EXPECT_EQ(status.members[0].waiting_for, absl::Seconds(4));
}

TEST(StatusTest, PendingCollectivesNameTheMissing) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Barrier(p[1], "epoch 1");
  h.Advance(absl::Seconds(7));
  const JobStatus status = h.coordinator().GetStatus(h.now());
  ASSERT_THAT(status.pending, SizeIs(1));
  EXPECT_EQ(status.pending[0].operation, "Barrier('epoch 1')");
  EXPECT_THAT(status.pending[0].arrived, ElementsAre(1));
  EXPECT_THAT(status.pending[0].missing, ElementsAre(0, 2));
  EXPECT_EQ(status.pending[0].age, absl::Seconds(7));
  EXPECT_THAT(status.members[1].waiting_in, HasSubstr("Barrier('epoch 1') op 0"));
}

TEST(StatusTest, PendingCollectivesNameRanksThatStoppedWaitingSeparately) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  h.Barrier(p[1], "epoch 1");
  h.Barrier(p[3], "epoch 1", absl::Seconds(1));
  h.Advance(absl::Seconds(7));
  const JobStatus status = h.coordinator().GetStatus(h.now());
  ASSERT_THAT(status.pending, SizeIs(1));
  EXPECT_THAT(status.pending[0].arrived, ElementsAre(1));
  EXPECT_THAT(status.pending[0].missing, ElementsAre(0, 2));
  EXPECT_THAT(status.pending[0].gave_up, ElementsAre(3));
}

TEST(StatusTest, LeasesShowHolderAndWaiters) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t token = h.TokenOf(h.Acquire(p[1], "unpack", 1, LeaseScope::kNode));
  h.Acquire(p[0], "unpack", 1, LeaseScope::kNode);
  h.Advance(absl::Seconds(3));
  const JobStatus status = h.coordinator().GetStatus(h.now());
  ASSERT_THAT(status.leases, SizeIs(1));
  EXPECT_EQ(status.leases[0].name, "unpack");
  EXPECT_EQ(status.leases[0].node_id, "n0");
  EXPECT_EQ(status.leases[0].holder_rank, 1u);
  EXPECT_EQ(status.leases[0].token, token);
  EXPECT_EQ(status.leases[0].waiters, 1u);
  EXPECT_EQ(status.leases[0].held_for, absl::Seconds(3));
}

TEST(StatusTest, MembersGoThroughTheirStates) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  h.CloseStream(p[1]);
  h.Leave(p[2]);
  JobStatus status = h.coordinator().GetStatus(h.now());
  EXPECT_EQ(status.members[0].state, MemberState::kRunning);
  EXPECT_EQ(status.members[1].state, MemberState::kDetached);
  EXPECT_EQ(status.members[2].state, MemberState::kLeaving);
  h.Advance(absl::Seconds(2));
  status = h.coordinator().GetStatus(h.now());
  EXPECT_EQ(status.state, JobState::kFailed);
  EXPECT_EQ(status.members[1].state, MemberState::kLost);
  EXPECT_EQ(status.members[2].state, MemberState::kLeft);
  EXPECT_THAT(status.reason, HasSubstr("rank 1"));
  ASSERT_THAT(status.recent_failures, SizeIs(1));
  EXPECT_EQ(status.recent_failures[0].rank, 1u);
}

TEST(StatusTest, OmitsCompletedLeasesUnlessTheyAreRequested) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const uint64_t token = h.TokenOf(h.Acquire(p[0], "done", 1));
  h.Complete(p[0], "done", token, "result");
  h.Acquire(p[0], "held", 2);
  EXPECT_THAT(h.coordinator().GetStatus(h.now()).leases, SizeIs(2));
  const auto open = h.coordinator().GetStatus(h.now(), /*with_completed_leases=*/false).leases;
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0].name, "held");
}

TEST(StatusTest, TheBriefStatusHasTheStateAndTheRequestedMembers) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const std::vector<Incarnation> requested = {p[1].identity.incarnation, std::string(16, 'x')};
  const JobStatus runs = h.coordinator().GetBriefStatus(h.now(), requested);
  EXPECT_EQ(runs.state, JobState::kRunning);
  EXPECT_TRUE(runs.epoch.has_value());
  ASSERT_THAT(runs.members, SizeIs(1));
  EXPECT_EQ(runs.members[0].rank, 1u);
  h.ReportExit(p[0], false, 3);
  const JobStatus failed = h.coordinator().GetBriefStatus(h.now(), {});
  EXPECT_EQ(failed.state, JobState::kFailed);
  EXPECT_EQ(failed.reason, h.coordinator().GetStatus(h.now()).reason);
  EXPECT_TRUE(failed.members.empty());
}

}  // namespace
}  // namespace muster::core
