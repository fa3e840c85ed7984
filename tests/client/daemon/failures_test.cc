// Tests of losses, of leaving and of the end of a Job, through a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "muster/error_facts.h"
#include "muster/job.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<std::string> kShortGrace = {"--member-grace=100ms"};

void ExpectNames(const absl::Status& status, const std::string& who) {
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr(who), HasSubstr("was lost")));
  EXPECT_TRUE(FactsOf(status).rank) << status;
}

// Members are threads of this process.
void ExpectFacts(const absl::Status& status, int rank, const std::string& node) {
  const ErrorFacts facts = FactsOf(status);
  EXPECT_EQ(facts.rank, rank) << status;
  EXPECT_EQ(facts.node, node);
  EXPECT_EQ(facts.pid, getpid());
  EXPECT_THAT(facts.cause, AllOf(StartsWith("its connection ended ("), EndsWith("within 100ms")));
  EXPECT_THAT(facts.missing_ranks, ElementsAre(rank));
}

TEST(FailuresTest, LostMemberIsNamedInEveryWaitingAndLaterCall) {
  Jobs jobs(4, kShortGrace);
  std::promise<absl::Status> told;
  const Subscription subscription =
      jobs[0].OnFailure([&](const absl::Status& status) { told.set_value(status); });
  auto barrier = std::async(std::launch::async, [&] { return jobs[0].Barrier("x"); });
  auto broadcast = std::async(std::launch::async, [&] {
    return jobs[2].NewGroup("two", {2, 3})->Broadcast(1, 1).status();
  });
  const absl::StatusOr<Lease> held = jobs[2].AcquireLease("work", LeaseScope::kJob);
  auto lease = std::async(std::launch::async,
                          [&] { return jobs[1].AcquireLease("work", LeaseScope::kJob).status(); });
  auto watcher = std::async(std::launch::async,
                            [&] { return jobs[2].AwaitFailure(absl::InfiniteDuration()); });
  for (const char* call : {"Barrier", "Broadcast", "lease"}) {
    ASSERT_TRUE(jobs.AwaitParked(1, call));
  }
  jobs.Destroy(3);
  const std::string who = "rank 3 (host ";
  ExpectNames(barrier.get(), who);
  ExpectFacts(broadcast.get(), 3, jobs[0].members()[3].node_id);
  ExpectNames(lease.get(), who);
  ExpectNames(watcher.get(), who);
  ExpectNames(told.get_future().get(), who);
  for (int rank = 0; rank < 3; ++rank) {
    ExpectNames(jobs[rank].AwaitFailure(absl::InfiniteDuration()), who);
    ExpectNames(jobs[rank].Barrier("later"), who);
    ExpectNames(jobs[rank].AcquireLease("later", LeaseScope::kNode).status(), who);
    ExpectNames(jobs[rank].health(), who);
    ExpectFacts(jobs[rank].health(), 3, jobs[0].members()[3].node_id);
    ExpectFacts(jobs[rank].Barrier("later"), 3, jobs[0].members()[3].node_id);
    EXPECT_TRUE(jobs[rank].Leave().ok());
  }
}

TEST(FailuresTest, HealthyJobIsHealthy) {
  Jobs jobs(2);
  EXPECT_TRUE(jobs[0].health().ok());
  EXPECT_TRUE(jobs[0].AwaitFailure(absl::Milliseconds(1)).ok());
  EXPECT_TRUE(jobs[0].world().AwaitFailure(absl::ZeroDuration()).ok());
}

TEST(FailuresTest, ALateJoinerLearnsOfTheLostMember) {
  Jobs jobs(2, kShortGrace);
  jobs.Destroy(1);
  ExpectNames(jobs[0].AwaitFailure(absl::InfiniteDuration()), "rank 1");
  const absl::Status status = Job::Join(OptionsFor(jobs.daemon().address())).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Message(status), HasSubstr("rank 1"));
  // This process has no list of the members, and knows the node as messages name it.
  ExpectFacts(status, 1, jobs[0].members()[1].hostname);
}

TEST(FailuresTest, LeaveWaitsForAllAndEndsTheJob) {
  Jobs jobs(3, {"--exit-when-done"});
  for (const absl::Status& status : jobs.OnAll([](Job& job) { return job.Leave(); })) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(jobs.daemon().process().Wait(), (Exit{false, 0}));
  EXPECT_TRUE(jobs[0].Leave().ok());
  EXPECT_TRUE(jobs[0].health().ok());
  EXPECT_THAT(Message(jobs[0].Barrier()), HasSubstr("has left job 'default'"));
  EXPECT_EQ(jobs[0].RunOncePerNode("x", [] {}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FailuresTest, ALeaveThatTimesOutNamesTheRemainingRanks) {
  Jobs jobs(2);
  const absl::Status status = jobs[0].Leave({absl::Milliseconds(100)});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("rank 1"));
  EXPECT_THAT(FactsOf(status).missing_ranks, ElementsAre(1));
  ExpectNames(jobs[1].AwaitFailure(absl::InfiniteDuration()), "rank 0");
  EXPECT_EQ(FactsOf(jobs[1].health()).cause,
            "its Leave() timed out before all others had called Leave()");
}

TEST(FailuresTest, ACollectiveThatNeedsALeavingRankFails) {
  Jobs jobs(2);
  auto left = std::async(std::launch::async, [&] { return jobs[0].Leave(); });
  ASSERT_TRUE(jobs.AwaitParked(1, "Leave"));
  const absl::Status status = jobs[1].Barrier("one more");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("rank 0"));
  EXPECT_TRUE(jobs[1].Leave().ok());
  EXPECT_TRUE(left.get().ok());
}

TEST(FailuresTest, AStoppedDaemonIsGivenUpAfterTheCoordinatorTimeout) {
  Jobs jobs(2, {}, [](int, JobOptions* options) {
    options->coordinator_timeout = absl::Seconds(3);  // a busy machine starts slowly
  });
  auto waiting = std::async(std::launch::async, [&] { return jobs[0].Barrier("x"); });
  ASSERT_TRUE(jobs.AwaitParked(1, "Barrier"));
  jobs.KillDaemon();
  const absl::Status status = waiting.get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("rank 0 of job 'default' could not reach the coordinator at " +
                              jobs.daemon().address()),
                    HasSubstr("last error: ")));
}

// Returns false if Join() does nothing but report that this process is a fork.
bool JoinsInAFork(const std::string& coordinator) {
  const absl::Status status = Job::Join(OptionsFor(coordinator)).status();
  const std::string both = absl::StrCat("process ", getpid(), " is a fork of process ", getppid());
  return !absl::IsFailedPrecondition(status) || !absl::StrContains(status.message(), both);
}

TEST(FailuresTest, CallsInAForkAreRefusedAndHarmNothing) {
  Jobs jobs(2);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);  // ends a process that hangs
    const absl::Status status = jobs[0].Barrier();
    const bool joined = JoinsInAFork(jobs.daemon().address());
    jobs.Destroy(0);
    _exit(absl::IsFailedPrecondition(status) && !joined ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const absl::Status& done : jobs.OnAll([](Job& job) { return job.Barrier(); })) {
    EXPECT_TRUE(done.ok()) << done;
  }
}

TEST(FailuresTest, JobsComeAndGoInOneProcess) {
  for (int round = 0; round < 3; ++round) {
    Jobs jobs(2);
    Cancellation cancellation;
    auto waiting = std::async(std::launch::async, [&] {
      return jobs[0].Barrier("x", {std::nullopt, &cancellation});
    });
    ASSERT_TRUE(jobs.AwaitParked(1, "Barrier"));
    cancellation.Cancel();
    EXPECT_TRUE(absl::IsCancelled(waiting.get()));
  }
}

TEST(LifetimeTest, ObjectsOfADestroyedJobSaySo) {
  Jobs jobs(2, kShortGrace);
  const Group group = *jobs[0].NewGroup("both", {0, 1});
  absl::StatusOr<Lease> lease = jobs[0].AcquireLease("work", LeaseScope::kJob);
  ASSERT_TRUE(lease.ok() && lease->held()) << lease.status();
  std::promise<absl::Status> told;
  const Subscription subscription =
      group.OnFailure([&](const absl::Status& status) { told.set_value(status); });
  auto waiting = std::async(std::launch::async, [&] { return group.Barrier("never"); });
  ASSERT_TRUE(jobs.AwaitParked(1, "Barrier"));
  jobs.Destroy(0);
  EXPECT_EQ(waiting.get().code(), absl::StatusCode::kCancelled);
  const absl::Status ended = told.get_future().get();
  EXPECT_EQ(ended.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Message(ended), HasSubstr("rank 0 of job 'default': the Job was destroyed"));
  EXPECT_EQ(group.health(), ended);
  EXPECT_EQ(group.Barrier(), ended);
  EXPECT_EQ(lease->Complete("done").code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(group.member(1).rank, 1);
  // The other ranks count this process as gone, whatever it still holds.
  ExpectNames(jobs[1].AwaitFailure(absl::InfiniteDuration()), "rank 0");
}

TEST(LifetimeTest, AListenerMayHoldTheLastReference) {
  Jobs jobs(1);
  auto group = std::make_shared<Group>(jobs[0].world());
  std::promise<void> gone;
  Group& told = *group;
  Subscription subscription =
      told.OnFailure([group = std::move(group), gone = &gone](const absl::Status&) mutable {
        group.reset();
        gone->set_value();
      });
  jobs.Destroy(0);
  gone.get_future().wait();
}

}  // namespace
}  // namespace muster::testing
