// Tests that kill musterd (SIGKILL) and restart it in the middle of the members' calls. The calls
// must return what they would have returned without the restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "muster/job.h"
#include "muster/log.h"
#include "tests/client/daemon/jobs.h"
#include "tests/util/job/status_reader.h"

namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A call that waits for another rank when the daemon dies.
template <class F>
auto Start(F call) {
  return std::async(std::launch::async, call);
}

TEST(RestartTest, BarrierCompletesWithRanksThatArriveBeforeAndAfter) {
  Jobs jobs(3);
  for (const absl::Status& s : jobs.OnAll([](Job& job) { return job.Barrier(); }))
    ASSERT_TRUE(s.ok());
  auto before = Start([&] { return jobs[0].Barrier("x"); });
  ASSERT_TRUE(jobs.AwaitParked(1, "Barrier"));
  jobs.KillDaemon();
  auto meanwhile = Start([&] { return jobs[1].Barrier("x"); });
  jobs.StartDaemonAgain();
  EXPECT_EQ(jobs[2].Barrier("x"), absl::OkStatus());
  EXPECT_EQ(before.get(), absl::OkStatus());
  EXPECT_EQ(meanwhile.get(), absl::OkStatus());
}

// A log line may block on a full pipe, for ever.
TEST(RestartTest, ABlockedLogDelaysNoCallAndNoNewSession) {
  Jobs jobs(2, {"--stall-warning=100ms"});
  std::promise<void> blocked, unblock;
  SetLogSink([&, first = true](LogLevel, absl::string_view) mutable {
    if (!std::exchange(first, false)) return;
    blocked.set_value();
    unblock.get_future().wait();
  });
  auto waiting = Start([&] { return jobs[0].Barrier("before"); });
  blocked.get_future().wait();  // in the line that rank 0 still waits for rank 1
  EXPECT_EQ(jobs[1].Barrier("before"), absl::OkStatus());
  EXPECT_EQ(waiting.get(), absl::OkStatus());
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  for (const absl::Status& s : jobs.OnAll([](Job& job) { return job.Barrier("after"); }))
    EXPECT_EQ(s, absl::OkStatus());
  unblock.set_value();
  SetLogSink(nullptr);
}

TEST(RestartTest, PayloadsSurvive) {
  Jobs jobs(3);
  auto broadcast = Start([&] { return jobs[0].Broadcast(std::string("weights")); });
  auto pair = Start([&] { return jobs[1].NewGroup("pair", {1, 2})->Gather(7, 0); });
  ASSERT_TRUE(jobs.AwaitParked(1, "Broadcast"));
  ASSERT_TRUE(jobs.AwaitParked(1, "Gather"));
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  EXPECT_TRUE(jobs[2].NewGroup("pair", {1, 2})->Gather(8, 0).ok());
  EXPECT_THAT(*pair.get(), ElementsAre(7, 8));
  auto other = Start([&] { return jobs[1].Broadcast(std::string()); });
  EXPECT_EQ(*jobs[2].Broadcast(std::string()), "weights");
  EXPECT_EQ(*other.get(), "weights");
  EXPECT_EQ(*broadcast.get(), "weights");
}

TEST(RestartTest, JobFormsWithMembersThatJoinBeforeAndAfter) {
  const auto daemon = TestDaemon::Start({"--world-size=3"});
  const std::string address = daemon->address();
  const auto join = [&] { return Job::Join(OptionsFor(address)); };
  auto first = Start(join);
  auto second = Start(join);
  ASSERT_TRUE(StatusReader(address).WaitForParked(2, "Join"));
  daemon->Kill();
  daemon->Restart();
  const auto third = join();
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
}

TEST(RestartTest, LeavingGoesOn) {
  Jobs jobs(3, {"--exit-when-done"});
  auto first = Start([&] { return jobs[0].Leave(); });
  auto second = Start([&] { return jobs[1].Leave(); });
  ASSERT_TRUE(jobs.AwaitParked(2, "Leave"));
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  EXPECT_EQ(jobs[2].Leave(), absl::OkStatus());
  EXPECT_EQ(first.get(), absl::OkStatus());
  EXPECT_EQ(second.get(), absl::OkStatus());
}

TEST(RestartTest, HolderOfALeaseCompletesItAndWaitersGetItsResult) {
  Jobs jobs(2);
  absl::StatusOr<Lease> held = jobs[0].AcquireLease("work", LeaseScope::kJob);
  ASSERT_TRUE(held.ok() && held->held());
  auto waiter = Start([&] { return jobs[1].AcquireLease("work", LeaseScope::kJob); });
  ASSERT_TRUE(jobs.AwaitParked(1, "lease"));
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  EXPECT_EQ(held->Complete("result"), absl::OkStatus());
  const absl::StatusOr<Lease> answer = waiter.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->held());
  EXPECT_EQ(*answer->result(), "result");
}

TEST(RestartTest, ResultsAndTokensSurvive) {
  Jobs jobs(2);
  EXPECT_EQ(*jobs[0].RunOncePerJob("done", [] { return 7; }), 7);
  absl::StatusOr<Lease> before = jobs[0].AcquireLease("before", LeaseScope::kJob);
  ASSERT_TRUE(before.ok());
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  EXPECT_EQ(*jobs[1].RunOncePerJob("done", [] { return 8; }), 7);
  const absl::StatusOr<Lease> after = jobs[1].AcquireLease("after", LeaseScope::kJob);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_GT(after->token(), before->token());
}

TEST(RestartTest, DisagreementIsNotForgotten) {
  Jobs jobs(2);
  auto barrier = Start([&] { return jobs[0].Barrier("x"); });
  EXPECT_TRUE(absl::IsFailedPrecondition(jobs[1].Barrier("y")));
  const absl::Status disagreed = barrier.get();
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  EXPECT_EQ(jobs[0].Barrier("z"), disagreed);
  EXPECT_TRUE(absl::IsFailedPrecondition(jobs[1].Barrier("z")));
}

TEST(RestartTest, LossIsNotForgotten) {
  Jobs jobs(3, {"--member-grace=100ms"});
  jobs.Destroy(2);
  const absl::Status lost = jobs[0].AwaitFailure(absl::InfiniteDuration());
  EXPECT_THAT(Message(lost), HasSubstr("rank 2"));
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  EXPECT_EQ(jobs[0].Barrier(), lost);
  EXPECT_THAT(Message(jobs[1].AwaitFailure(absl::InfiniteDuration())), HasSubstr("rank 2"));
}

// Runs one step of a program that uses everything. The result depends on every rank's part in the
// step.
absl::StatusOr<int> WorkStep(Job& job, int step) {
  const absl::StatusOr<std::vector<int>> all = job.AllGather(100 * step + job.rank());
  if (!all.ok()) return all.status();
  const absl::StatusOr<int> root = job.Broadcast((*all)[step % all->size()], step % all->size());
  if (!root.ok()) return root.status();
  const absl::StatusOr<int> leased =
      job.RunOncePerJob(absl::StrCat("work ", step), [&] { return *root + 1; });
  if (!leased.ok()) return leased.status();
  const absl::Status barrier = job.Barrier(absl::StrCat("step ", step));
  if (!barrier.ok()) return barrier;
  return *leased;
}

TEST(RestartTest, KillsAtAnyPointChangeNoResult) {
  constexpr int kRanks = 4;
  constexpr int kKills = 12;
  Jobs jobs(kRanks);
  std::atomic<bool> enough{false};
  std::atomic<int> steps{0};
  auto killer = Start([&] {
    for (int kill = 0; kill < kKills; ++kill) {
      // Waits until another step has begun.
      for (const int seen = steps; steps == seen;) std::this_thread::yield();
      jobs.KillDaemon();
      jobs.StartDaemonAgain();
    }
    enough = true;
  });
  jobs.Run([&](int rank, Job& job) {
    bool last = false;
    for (int step = 0; !last; ++step) {
      const absl::StatusOr<int> value = WorkStep(job, step);
      ASSERT_TRUE(value.ok()) << "rank " << rank << " step " << step << ": " << value.status();
      EXPECT_EQ(*value, 100 * step + step % kRanks + 1);
      if (rank == 0) ++steps;
      // All ranks end at the same step.
      const absl::StatusOr<bool> ends = job.Broadcast(enough.load());
      ASSERT_TRUE(ends.ok()) << ends.status();
      last = *ends;
    }
    EXPECT_EQ(job.Leave(), absl::OkStatus());
  });
  killer.get();
}

}  // namespace
}  // namespace muster::testing
