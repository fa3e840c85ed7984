// SIGSTOP and SIGCONT, as sent by a debugger, by a batch system, or by closing a laptop.

#include <signal.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const v1::MemberStatus* RankOf(int rank, const v1::GetStatusResponse& job) {
  for (const v1::MemberStatus& member : job.members()) {
    if (member.has_rank() && static_cast<int>(member.rank()) == rank) return &member;
  }
  return nullptr;
}

TEST(StoppedRankTest, IsShownAtOnceAndResumesAtSigcont) {
  auto daemon = TestDaemon::Start({"--world-size=2"});
  StatusReader status(daemon->address());
  Gate gate;
  auto run = LaunchAt(*daemon, 2, {absl::StrCat("1:", gate.wait()), "barrier", "leave"});
  ASSERT_TRUE(AwaitStep(*run, {0}, "barrier"));
  ASSERT_TRUE(AwaitStep(*run, {1}, "wait"));
  const pid_t stopped = PidOf(1, *run);
  kill(stopped, SIGSTOP);
  EXPECT_TRUE(run->WaitForOutput("is stopped; SIGCONT continues it"));
  EXPECT_TRUE(status.WaitFor([](const v1::GetStatusResponse& job) {
    return RankOf(1, job)->state() == v1::MEMBER_STATE_STOPPED;
  }));
  EXPECT_THAT(MusterStatus(*daemon), HasSubstr("stopped"));
  kill(stopped, SIGCONT);
  EXPECT_TRUE(status.WaitFor([](const v1::GetStatusResponse& job) {
    return RankOf(1, job)->state() == v1::MEMBER_STATE_RUNNING;
  }));
  gate.Open();
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
}

TEST(StoppedRankTest, IsLostAfterTheKeepaliveTimeout) {
  auto daemon = TestDaemon::Start(
      {"--world-size=3", "--keepalive-time=1s", "--keepalive-timeout=3s", "--member-grace=200ms"});
  StatusReader status(daemon->address());
  auto ranks = StartRanks(daemon->address(), 3, {"2:loss", "barrier"});
  ASSERT_TRUE(status.WaitForParked(2, "Barrier"));
  ranks[1]->Signal(SIGSTOP);
  for (int rank : {0, 2}) {
    EXPECT_EQ(ranks[rank]->Wait(), kRankError);
    EXPECT_THAT(ranks[rank]->Output(),
                AllOf(HasSubstr("error: ABORTED"), HasSubstr("rank 1 (host "),
                      HasSubstr(absl::StrCat("pid ", ranks[1]->pid(), ") was lost at "))));
  }
  ranks[1]->Signal(SIGCONT);
  EXPECT_EQ(ranks[1]->Wait(), kRankError);
  EXPECT_THAT(ranks[1]->Output(), AllOf(HasSubstr("error: ABORTED"), HasSubstr("was lost")));
}

// As long as a debugger may hold it: here for longer than pings would have allowed.
TEST(StoppedRankTest, IsNeverLostIfTheKeepaliveTimeoutIsZero) {
  auto daemon =
      TestDaemon::Start({"--world-size=2", "--keepalive-time=100ms", "--keepalive-timeout=0s",
                         "--member-grace=0s", "--stall-warning=100ms"});
  auto ranks = StartRanks(daemon->address(), 2, {"barrier", "1:stop", "barrier", "leave"});
  // Warnings come after 0.1 s, 0.2 s, 0.4 s and so on.
  ASSERT_TRUE(AwaitCount(daemon->process(), "op 1 of the world has waited", 6));
  ranks[1]->Signal(SIGCONT);
  ExpectExits(ranks, kSuccess);
}

TEST(StoppedDaemonTest, ResumesUnnoticed) {
  auto daemon = TestDaemon::Start({"--world-size=2"});
  StatusReader status(daemon->address());
  Gate gate;
  auto ranks = StartRanks(daemon->address(), 2,
                          {absl::StrCat("1:", gate.wait()), "barrier", "allgather", "leave"});
  ASSERT_TRUE(status.WaitForParked(1, "Barrier"));
  daemon->process().Signal(SIGSTOP);
  gate.Open();
  ASSERT_TRUE(ranks[1]->WaitForOutput("begins barrier"));
  daemon->process().Signal(SIGCONT);
  ExpectExits(ranks, kSuccess);
}

// Long enough for the SDK to close the connection: it pings after 3 s, and waits 6 s for the
// answer.
TEST(StoppedDaemonTest, MembersReconnectWhenItResumes) {
  auto daemon = TestDaemon::Start({"--world-size=2"});
  StatusReader status(daemon->address());
  Gate gate;
  auto ranks = StartRanks(daemon->address(), 2,
                          {absl::StrCat("1:", gate.wait()), "barrier", "allgather", "leave"});
  ASSERT_TRUE(status.WaitForParked(1, "Barrier"));
  daemon->process().Signal(SIGSTOP);
  for (auto& rank : ranks) ASSERT_TRUE(rank->WaitForOutput("trying again"));
  daemon->process().Signal(SIGCONT);
  gate.Open();
  ExpectExits(ranks, kSuccess);
}

}  // namespace
}  // namespace muster::testing
