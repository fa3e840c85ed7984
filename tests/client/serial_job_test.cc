// Tests of a Job in serial mode: one process, without a coordinator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "muster/communicator.h"
#include "muster/job.h"
#include "muster/log.h"
#include "muster/parallel_exchange.h"
#include "muster/store.h"
#include "tests/util/process/wall_clock.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Job> JoinSerial() {
  absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(JobOptions());
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

template <class T>
std::string Message(const absl::StatusOr<T>& value) {
  return std::string(value.status().message());
}
std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(SerialJobTest, IsAWorldOfOne) {
  const auto job = JoinSerial();
  EXPECT_EQ(job->rank(), 0);
  EXPECT_EQ(job->world_size(), 1);
  EXPECT_EQ(job->local_rank(), 0);
  EXPECT_EQ(job->local_world_size(), 1);
  EXPECT_EQ(job->node_rank(), 0);
  EXPECT_EQ(job->num_nodes(), 1);
  EXPECT_TRUE(job->is_main());
  EXPECT_FALSE(job->is_distributed());
  EXPECT_EQ(job->id(), "default");
  EXPECT_EQ(job->self().pid, getpid());
  EXPECT_EQ(job->world().local_address(), "");
}

TEST(SerialJobTest, CollectivesReturnTheCallersValue) {
  const auto job = JoinSerial();
  EXPECT_TRUE(job->Barrier("start").ok());
  EXPECT_EQ(*job->Broadcast(std::string("weights")), "weights");
  EXPECT_THAT(*job->Gather(7), ElementsAre(7));
  EXPECT_THAT(*job->AllGather(std::vector<float>{1, 2}), ElementsAre(ElementsAre(1, 2)));
}

TEST(SerialJobTest, ArraysAreChangedAndFilledInPlace) {
  const auto job = JoinSerial();
  int mine[3] = {1, 2, 3};
  int all[3] = {};
  EXPECT_TRUE(job->Broadcast(absl::MakeSpan(mine)).ok());
  EXPECT_TRUE(job->AllReduce(absl::MakeSpan(mine)).ok());
  EXPECT_TRUE(job->Gather(mine, absl::MakeSpan(all)).ok());
  EXPECT_THAT(all, ::testing::ElementsAre(1, 2, 3));
  int small[2] = {};
  const absl::Status refused = job->AllGather(mine, absl::MakeSpan(small));
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(Message(refused),
              HasSubstr("the result has 8 bytes, expected 12 for each of 1 rank"));
}

// Collects the SDK's log lines while it lives.
class LogLines {
 public:
  LogLines() {
    SetLogSink([this](LogLevel level, absl::string_view line) {
      if (level >= LogLevel::kWarning) lines_.emplace_back(line);
    });
  }
  ~LogLines() { SetLogSink(nullptr); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

TEST(SerialJobTest, ALeaseThatIsDroppedWithoutAnOutcomeIsWarnedOf) {
  const LogLines log;
  auto job = JoinSerial();
  job->AcquireLease("tokenize", LeaseScope::kNode).IgnoreError();
  ASSERT_THAT(log.lines(), ::testing::SizeIs(1));
  EXPECT_THAT(log.lines()[0], ::testing::AllOf(HasSubstr("lease 'tokenize'"),
                                               HasSubstr("call Complete() or Fail()"),
                                               HasSubstr("or Release() to give it up on purpose")));
}

TEST(SerialJobTest, ALeaseThatIsGivenUpOnPurposeIsNotWarnedOf) {
  const LogLines log;
  auto job = JoinSerial();
  {
    absl::StatusOr<Lease> released = job->AcquireLease("a", LeaseScope::kNode);
    ASSERT_TRUE(released.ok() && released->held());
    released->Release();
    released->Release();
    EXPECT_TRUE(absl::IsFailedPrecondition(released->Complete("late")));
  }
  absl::StatusOr<Lease> again = job->AcquireLease("a", LeaseScope::kNode);
  ASSERT_TRUE(again.ok() && again->held());
  EXPECT_TRUE(again->Fail(absl::DataLossError("truncated")).ok());
  EXPECT_EQ(*job->RunOncePerNode("b", [] { return 1; }), 1);
  {
    absl::StatusOr<Lease> longer = job->AcquireLease("c", LeaseScope::kNode);
    job.reset();  // the job ends
  }
  {
    const auto left = JoinSerial();
    absl::StatusOr<Lease> held = left->AcquireLease("d", LeaseScope::kNode);
    EXPECT_TRUE(left->Leave().ok());
  }
  EXPECT_THAT(log.lines(), ::testing::IsEmpty());
}

TEST(SerialJobTest, TimeOutsDoNotFollowTheWallClock) {
  const auto job = JoinSerial();
  const absl::StatusOr<Lease> held = job->AcquireLease("work", LeaseScope::kJob);
  const testing::JumpingWallClock jumps;
  EXPECT_TRUE(job->AwaitFailure(absl::Milliseconds(1)).ok());
  const absl::StatusOr<Lease> late =
      job->AcquireLease("work", LeaseScope::kJob, {absl::Milliseconds(1)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
}

TEST(SerialJobTest, RejoinChangesNothing) {
  const auto job = JoinSerial();
  const uint64_t epoch = job->epoch();
  EXPECT_TRUE(job->Rejoin().ok());
  EXPECT_EQ(job->epoch(), epoch);
  EXPECT_FALSE(job->resumed());
  EXPECT_EQ(job->NewcomersWaiting(), 0);
  EXPECT_TRUE(job->Barrier().ok());
}

TEST(SerialJobTest, StopIsRequestedFromTheNextCollectiveOn) {
  const auto job = JoinSerial();
  EXPECT_TRUE(job->Barrier().ok());
  EXPECT_TRUE(job->RequestStop().ok());
  EXPECT_FALSE(job->StopRequested());
  EXPECT_TRUE(job->NewGroup("mine", {0})->Barrier().ok());
  EXPECT_FALSE(job->StopRequested());
  EXPECT_TRUE(job->Barrier().ok());
  EXPECT_TRUE(job->StopRequested());
}

TEST(SerialJobTest, ObjectsThatOutliveTheJobAreCancelled) {
  auto job = JoinSerial();
  const Group world = job->world();
  absl::StatusOr<Lease> lease = job->AcquireLease("work", LeaseScope::kJob);
  ASSERT_TRUE(lease.ok() && lease->held());
  job.reset();
  EXPECT_TRUE(absl::IsCancelled(world.Barrier()));
  EXPECT_THAT(Message(world.Barrier()), HasSubstr("the Job was destroyed"));
  EXPECT_TRUE(absl::IsCancelled(lease->Complete("done")));
}

TEST(SerialJobTest, ListenersLearnThatTheJobIsDestroyed) {
  auto job = JoinSerial();
  const Group world = job->world();
  std::vector<absl::Status> reported;
  const auto listen = [&](const absl::Status& why) { reported.push_back(why); };
  const Subscription before = world.OnFailure(listen);
  Subscription ended = world.OnFailure(listen);
  ended.Reset();
  EXPECT_TRUE(world.health().ok());
  job.reset();
  const Subscription after = world.OnFailure(listen);
  EXPECT_TRUE(absl::IsCancelled(world.health()));
  EXPECT_THAT(Message(world.health()), HasSubstr("the Job was destroyed"));
  EXPECT_THAT(reported, ElementsAre(world.health(), world.health()));
  EXPECT_TRUE(absl::IsCancelled(world.AwaitLoss()));
}

TEST(SerialJobTest, TheEndOfTheJobWakesAwaitFailure) {
  auto job = JoinSerial();
  const Group world = job->world();
  absl::Status awaited;
  std::thread watcher([&] { awaited = world.AwaitFailure(absl::InfiniteDuration()); });
  job.reset();
  watcher.join();
  EXPECT_TRUE(absl::IsCancelled(awaited)) << awaited;
}

TEST(SerialJobTest, ACommunicatorEndsWithItsJob) {
  auto job = JoinSerial();
  absl::StatusOr<std::unique_ptr<Communicator>> communicator = Communicator::Create(job->world());
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  job.reset();
  EXPECT_TRUE(absl::IsCancelled((*communicator)->Barrier()));
}

TEST(SerialJobTest, GroupsAndTheirArguments) {
  const auto job = JoinSerial();
  absl::StatusOr<Group> group = job->NewGroup("mine", {0});
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ(group->name(), "mine");
  EXPECT_EQ(group->size(), 1);
  EXPECT_TRUE(group->Barrier().ok());
  EXPECT_TRUE(job->NewGroup("mine", {0}).ok());
  EXPECT_THAT(Message(job->NewGroup("", {0})), HasSubstr("group name is empty"));
  EXPECT_THAT(Message(job->NewGroup("g", {})), HasSubstr("has no ranks"));
  EXPECT_THAT(Message(job->NewGroup("g", {0, 0})), HasSubstr("rank 0 twice"));
  EXPECT_THAT(Message(job->NewGroup("g", {0, 1})), HasSubstr("rank 1, which is out of range"));
  EXPECT_THAT(Message(job->NewGroup("g", {-1})), HasSubstr("rank -1"));
  EXPECT_THAT(Message(job->NewGroup("a\nb", {0})), HasSubstr("control character"));
  EXPECT_THAT(Message(job->NewGroup(std::string(300, 'g'), {0})), HasSubstr("at most 256"));
}

TEST(SerialJobTest, ArgumentsAreChecked) {
  const auto job = JoinSerial();
  EXPECT_THAT(Message(job->Broadcast(1, 1)), HasSubstr("Broadcast(int32): root 1 is out of range"));
  EXPECT_THAT(Message(job->Gather(1, -1)), HasSubstr("Gather(int32): root -1 is out of range"));
  EXPECT_THAT(Message(job->Barrier("two\nlines")), HasSubstr("control character"));
  EXPECT_THAT(Message(job->Barrier("", {absl::InfiniteDuration()})), HasSubstr("deadline"));
  EXPECT_THAT(Message(job->Barrier("", {-absl::Seconds(1)})), HasSubstr("-1s"));
  EXPECT_THAT(Message(job->AcquireLease("", LeaseScope::kJob)), HasSubstr("lease name is empty"));
}

TEST(SerialJobTest, CancelledCallsDoNotBegin) {
  const auto job = JoinSerial();
  Cancellation cancellation;
  cancellation.Cancel();
  EXPECT_EQ(job->Barrier("", {std::nullopt, &cancellation}).code(), absl::StatusCode::kCancelled);
}

TEST(SerialJobTest, AnExchangeEndsWithoutTheCancellationOfItsCall) {
  const auto job = JoinSerial();
  const std::vector<float> own = {1, 2};
  auto cancellation = std::make_unique<Cancellation>();
  absl::StatusOr<TensorExchange> exchange =
      GetTensorsParallel(ViewOf(own, {2}), {0}, job->world(), {std::nullopt, cancellation.get()});
  ASSERT_TRUE(exchange.ok()) << exchange.status();
  cancellation->Cancel();
  cancellation.reset();
  EXPECT_TRUE(exchange->Release().ok());
}

TEST(SerialJobTest, WorkRunsOnceAndItsOutcomeIsKept) {
  const auto job = JoinSerial();
  int runs = 0;
  const auto work = [&] { return ++runs; };
  EXPECT_EQ(*job->RunOncePerNode("unpack", work), 1);
  EXPECT_EQ(*job->RunOncePerNode("unpack", work), 1);
  EXPECT_EQ(*job->RunOncePerJob("unpack", work), 2);
  EXPECT_EQ(*job->RunOnMain(work), 3);
  EXPECT_EQ(runs, 3);
}

TEST(SerialJobTest, WorkMayReturnAnything) {
  const auto job = JoinSerial();
  EXPECT_TRUE(job->RunOncePerNode("nothing", [] {}).ok());
  EXPECT_TRUE(job->RunOncePerNode("status", [] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(*job->RunOnMain([]() -> absl::StatusOr<std::string> { return "path"; }), "path");
  const auto fail = []() -> absl::StatusOr<int> { return absl::DataLossError("disk full"); };
  EXPECT_EQ(job->RunOncePerNode("fail", fail).status(), absl::DataLossError("disk full"));
  EXPECT_EQ(job->RunOncePerNode("fail", [] { return absl::StatusOr<int>(5); }).status(),
            absl::DataLossError("disk full"));
  EXPECT_EQ(job->RunOnMain(fail).status(), absl::DataLossError("disk full"));
}

TEST(SerialJobTest, AnExceptionOfTheWorkIsItsOutcome) {
  const auto job = JoinSerial();
  const auto fail = []() -> int { throw std::runtime_error("the disk is full"); };
  const absl::Status thrown = job->RunOncePerNode("unpack", fail).status();
  EXPECT_EQ(thrown.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(thrown), HasSubstr("the disk is full"));
  EXPECT_EQ(job->RunOncePerNode("unpack", [] { return 1; }).status(), thrown);
  EXPECT_EQ(job->RunOncePerJob("log", [] { throw std::runtime_error("no"); }).code(),
            absl::StatusCode::kInternal);
}

TEST(SerialJobTest, LeaseExcludesOtherThreads) {
  const auto job = JoinSerial();
  absl::StatusOr<Lease> lease = job->AcquireLease("work", LeaseScope::kJob);
  ASSERT_TRUE(lease.ok() && lease->held());
  EXPECT_EQ(lease->result().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(job->AcquireLease("work", LeaseScope::kJob, {absl::ZeroDuration()}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  std::thread waiter([&] {
    absl::StatusOr<Lease> other = job->AcquireLease("work", LeaseScope::kJob);
    ASSERT_TRUE(other.ok());
    EXPECT_FALSE(other->held());
    EXPECT_EQ(*other->result(), "done");
    EXPECT_EQ(other->Complete("again").code(), absl::StatusCode::kFailedPrecondition);
  });
  EXPECT_EQ(lease->Fail(absl::OkStatus()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(lease->Complete("done").ok());
  EXPECT_EQ(lease->Complete("twice").code(), absl::StatusCode::kFailedPrecondition);
  waiter.join();
}

TEST(SerialJobTest, LeaseThatIsGivenUpIsGrantedAgainWithAHigherToken) {
  const auto job = JoinSerial();
  uint64_t token = 0;
  {
    absl::StatusOr<Lease> lease = job->AcquireLease("work", LeaseScope::kNode);
    ASSERT_TRUE(lease.ok() && lease->held());
    token = lease->token();
    Lease moved = *std::move(lease);
    EXPECT_TRUE(moved.held());
  }
  absl::StatusOr<Lease> lease = job->AcquireLease("work", LeaseScope::kNode);
  ASSERT_TRUE(lease.ok() && lease->held());
  EXPECT_GT(lease->token(), token);
}

TEST(SerialJobTest, CallsAfterLeavingAreRefused) {
  const auto job = JoinSerial();
  EXPECT_TRUE(job->Leave().ok());
  EXPECT_TRUE(job->Leave().ok());
  EXPECT_EQ(job->Barrier().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(job->Broadcast(1)), HasSubstr("has left job 'default'"));
  EXPECT_THAT(Message(job->AcquireLease("x", LeaseScope::kJob)), HasSubstr("has left"));
}

TEST(SerialJobTest, NoOtherMemberCanBeLost) {
  const auto job = JoinSerial();
  bool called = false;
  const Subscription subscription = job->OnFailure([&](const absl::Status&) { called = true; });
  EXPECT_TRUE(job->health().ok());
  EXPECT_TRUE(job->AwaitFailure(absl::Milliseconds(1)).ok());
  EXPECT_FALSE(called);
}

// Returns what a listener for the end of the job hears at once.
absl::Status Heard(const Job& job) {
  absl::Status reported;
  const Subscription now = job.OnFailure([&](const absl::Status& why) { reported = why; });
  return reported;
}

TEST(SerialJobTest, CallsInAForkAreRefused) {
  auto job = JoinSerial();
  absl::StatusOr<Lease> lease = job->AcquireLease("work", LeaseScope::kNode);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const absl::Status status = job->Barrier();
    const bool named = absl::IsFailedPrecondition(status) && job->Leave() == status &&
                       job->NewGroup("g", {0}).status() == status &&
                       lease->Complete("x") == status && job->health() == status &&
                       job->AwaitFailure(absl::InfiniteDuration()) == status &&
                       job->world().AwaitLoss() == status && Heard(*job) == status &&
                       !job->StopRequested() && job->NewcomersWaiting() == 0 &&
                       Message(status).find("is a fork of process") != std::string::npos;
    job.reset();
    _exit(named ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SerialJobTest, TheStoreKeepsKeysInTheProcess) {
  const auto job = JoinSerial();
  const Store store = job->store();
  EXPECT_TRUE(store.Set("a", "1").ok());
  EXPECT_EQ(*job->store().Get("a"), "1");
  EXPECT_EQ(*store.Add("a", 2), 3);
  EXPECT_TRUE(store.CompareAndSet("a", "3", "4")->changed);
  EXPECT_EQ(store.CompareAndSet("a", std::nullopt, "5")->value, "4");
  EXPECT_EQ(*store.Append("a", "!"), 2);
  EXPECT_EQ(*store.Push("queue", "first"), 1);
  EXPECT_EQ(*store.Length("queue"), 1);
  EXPECT_EQ(*store.Pop("queue"), "first");
  EXPECT_THAT(*store.List(), ElementsAre("a", "queue"));
  EXPECT_EQ(*store.Count("q"), 1);
  EXPECT_EQ(*store.Barrier("met", 1), 1);
  EXPECT_TRUE(store.Wait({"a", "met"}).ok());
  EXPECT_TRUE(*store.Delete("a"));
  CallOptions soon;
  soon.timeout = absl::Milliseconds(1);
  EXPECT_THAT(Message(store.Get("a", soon)), HasSubstr("key 'a' has not been set"));
  EXPECT_THAT(Message(store.Barrier("met", 0)), HasSubstr("expected at least 1"));
  EXPECT_TRUE(job->Leave().ok());
  EXPECT_EQ(store.Set("a", "1").code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SerialJobTest, AStoreThatOutlivesItsJobSaysSo) {
  auto job = JoinSerial();
  const Store store = job->store();
  std::vector<std::string> events;
  std::promise<void> ended;
  const auto watch = store.Watch("", [&](const absl::StatusOr<StoreEvent>& event) {
    events.push_back(event.ok() ? event->key : std::string(event.status().message()));
    if (!event.ok()) ended.set_value();
  });
  ASSERT_TRUE(watch.ok());
  EXPECT_TRUE(store.Set("a", "1").ok());
  job.reset();
  ended.get_future().wait();
  EXPECT_THAT(events, ElementsAre("a", HasSubstr("the Job was destroyed")));
  EXPECT_EQ(store.Get("a").status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace muster
