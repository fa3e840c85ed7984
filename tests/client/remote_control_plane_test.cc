// The control plane against a coordinator that the test plays by hand.
#include "client/src/remote_control_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "muster/job.h"
#include "tests/client/fake_transport.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

v1::EpochId TheEpoch() {
  v1::EpochId epoch;
  epoch.set_number(100);
  epoch.set_nonce(42);
  return epoch;
}

// Rank 1 of 2.
v1::JoinResponse ThePlace() {
  v1::JoinResponse place;
  *place.mutable_epoch() = TheEpoch();
  place.set_rank(1);
  for (int rank = 0; rank < 2; ++rank) {
    v1::RosterEntry* entry = place.add_roster();
    entry->mutable_member()->set_node_id("node");
    entry->set_local_rank(rank);
  }
  return place;
}

class RemoteControlPlaneTest : public ::testing::Test {
 protected:
  RemoteControlPlaneTest() {
    options_.coordinator = "fake:1";
    options_.job = "run";
    options_.timeout = absl::Seconds(60);
    options_.coordinator_timeout = absl::Seconds(60);
  }

  std::future<absl::StatusOr<std::unique_ptr<Job>>> StartJoin(
      Cancellation* cancellation = nullptr) {
    return std::async(
        std::launch::async, [this, cancellation]() -> absl::StatusOr<std::unique_ptr<Job>> {
          auto control =
              RemoteControlPlane::Join(coordinator_.NewTransport(), options_,
                                       After(SteadyClock::now(), options_.timeout), cancellation);
          if (!control.ok()) return control.status();
          return std::make_unique<Job>(*std::move(control));
        });
  }

  // A job that has joined; `stream_` is its open stream.
  void Join() {
    auto joining = StartJoin();
    stream_ = coordinator_.NextStream();
    stream_->Accept(1);
    coordinator_.NextCall()->Reply(absl::OkStatus(), ThePlace());
    absl::StatusOr<std::unique_ptr<Job>> job = joining.get();
    ASSERT_TRUE(job.ok()) << job.status();
    job_ = *std::move(job);
  }

  std::future<absl::Status> StartBarrier(const std::string& label, CallOptions options = {}) {
    return std::async(std::launch::async,
                      [this, label, options] { return job_->Barrier(label, options); });
  }

  JobOptions options_;
  FakeCoordinator coordinator_;
  std::shared_ptr<FakeCoordinator::Stream> stream_;
  std::unique_ptr<Job> job_;
};

TEST_F(RemoteControlPlaneTest, JoinTellsWhoAsks) {
  options_.world_size = 2;
  options_.rank = 1;
  options_.topology = "zone/rack";
  auto joining = StartJoin();
  const auto stream = coordinator_.NextStream();
  EXPECT_EQ(stream->request.job_id(), "run");
  EXPECT_EQ(stream->request.member().incarnation().size(), 16);
  EXPECT_EQ(stream->request.protocol_version(), 1);
  EXPECT_FALSE(stream->request.has_epoch());
  stream->Accept(5);
  v1::JoinRequest request;
  const auto call = coordinator_.Next(&request);
  EXPECT_EQ(request.world_size(), 2);
  EXPECT_EQ(request.rank(), 1);
  EXPECT_FALSE(request.has_local_rank());
  EXPECT_EQ(request.topology(), "zone/rack");
  EXPECT_EQ(request.context().job_id(), "run");
  EXPECT_EQ(request.context().session().counter(), 5);
  EXPECT_GT(request.context().wait_timeout().seconds(), 50);
  EXPECT_GT(call->timeout, absl::Seconds(60));
  call->Reply(absl::OkStatus(), ThePlace());
  const auto job = *joining.get();
  EXPECT_EQ(job->rank(), 1);
  EXPECT_EQ(job->world_size(), 2);
  EXPECT_EQ(job->local_world_size(), 2);
  EXPECT_EQ(job->num_nodes(), 1);
  EXPECT_TRUE(job->is_distributed());
  EXPECT_EQ(job->world().local_address(), "127.0.0.1");
}

TEST_F(RemoteControlPlaneTest, JoinTriesAgainWhileTheCoordinatorIsAway) {
  auto joining = StartJoin();
  coordinator_.NextStream()->End(absl::UnavailableError("connection refused"));
  coordinator_.NextStream()->End(absl::UnavailableError("connection refused"));
  coordinator_.NextStream()->Accept(1);
  coordinator_.NextCall()->Reply(absl::UnavailableError("the daemon is starting"));
  coordinator_.NextCall()->Reply(absl::OkStatus(), ThePlace());
  EXPECT_TRUE(joining.get().ok());
}

TEST_F(RemoteControlPlaneTest, JoinThatIsNotRegisteredInTimeNamesThePhase) {
  options_.timeout = absl::Milliseconds(200);
  const absl::Status status = StartJoin().get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("joining job 'run': timed out after 200ms while "
                                         "registering with the coordinator at fake:1"));
}

TEST_F(RemoteControlPlaneTest, JoinPassesOnWhoIsMissing) {
  auto joining = StartJoin();
  coordinator_.NextStream()->Accept(1);
  coordinator_.NextCall()->Reply(absl::DeadlineExceededError("1 of 2 members have joined"));
  const absl::Status status = joining.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("waiting for members: 1 of 2 members have joined"));
}

TEST_F(RemoteControlPlaneTest, JoinRefusalsKeepTheirCode) {
  auto joining = StartJoin();
  coordinator_.NextStream()->End(absl::NotFoundError("this is the coordinator of job 'other'"));
  absl::Status status = joining.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("registering with fake:1: this is the coordinator of"));

  joining = StartJoin();
  coordinator_.NextStream()->Accept(1);
  coordinator_.NextCall()->Reply(absl::AlreadyExistsError("rank 1 is taken"));
  EXPECT_EQ(joining.get().status(), absl::AlreadyExistsError("rank 1 is taken"));
}

TEST_F(RemoteControlPlaneTest, WhatIsNoMusterdIsRefused) {
  auto joining = StartJoin();
  coordinator_.NextStream()->End(absl::UnimplementedError("unknown service"));
  EXPECT_EQ(joining.get().status().code(), absl::StatusCode::kFailedPrecondition);

  joining = StartJoin();
  v1::AttachResponse response;
  response.mutable_attached()->set_daemon_version("9.0");
  coordinator_.NextStream()->Send(response);
  const absl::Status status = joining.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("this SDK is 0.1.0 and speaks protocol 1"));
  EXPECT_THAT(Message(status), HasSubstr("'9.0'"));
}

TEST_F(RemoteControlPlaneTest, JoinCanBeCancelled) {
  Cancellation cancellation;
  auto joining = StartJoin(&cancellation);
  coordinator_.NextStream();
  cancellation.Cancel();
  EXPECT_EQ(joining.get().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(RemoteControlPlaneTest, CollectivesCarryTheirContent) {
  Join();
  auto gathered = std::async(std::launch::async, [&] { return job_->AllGather<int32_t>(7); });
  v1::AllGatherRequest request;
  const auto call = coordinator_.Next(&request);
  EXPECT_EQ(request.context().epoch().nonce(), 42);
  EXPECT_EQ(request.context().sequence(), 0);
  EXPECT_EQ(request.context().type_name(), "int32");
  EXPECT_EQ(request.context().group().name(), "");
  EXPECT_EQ(request.payload(), Encode<int32_t>(7));
  v1::AllGatherResponse response;
  response.add_payloads(Encode<int32_t>(5));
  response.add_payloads(Encode<int32_t>(7));
  call->Reply(absl::OkStatus(), response);
  EXPECT_THAT(*gathered.get(), ElementsAre(5, 7));

  auto done = StartBarrier("next");
  v1::BarrierRequest barrier;
  coordinator_.Next(&barrier)->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_EQ(barrier.context().sequence(), 1);
  EXPECT_EQ(barrier.context().label(), "next");
  EXPECT_TRUE(done.get().ok());
}

TEST_F(RemoteControlPlaneTest, GroupsHaveSequencesOfTheirOwn) {
  Join();
  const absl::StatusOr<Group> group = job_->NewGroup("pair", {1, 0});
  ASSERT_TRUE(group.ok());
  EXPECT_EQ(group->rank(), 0);
  for (uint64_t sequence = 0; sequence < 2; ++sequence) {
    auto done = std::async(std::launch::async, [&] { return group->Barrier(); });
    v1::BarrierRequest request;
    coordinator_.Next(&request)->Reply(absl::OkStatus(), v1::BarrierResponse());
    EXPECT_EQ(request.context().sequence(), sequence);
    EXPECT_EQ(request.context().group().name(), "pair");
    EXPECT_THAT(request.context().group().ranks(), ElementsAre(1, 0));
    EXPECT_TRUE(done.get().ok());
  }
}

TEST_F(RemoteControlPlaneTest, LimitsAreCheckedBeforeAnythingIsSent) {
  Join();
  const absl::Status status = job_->AllGather(std::string(2000, 'x')).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("at most 1000 (musterd --max-payload-bytes)"));
  EXPECT_THAT(Message(job_->Barrier(std::string(65, 'x'))), HasSubstr("at most 64"));
}

TEST_F(RemoteControlPlaneTest, CallIsSentAgainInTheNextSession) {
  Join();
  auto done = StartBarrier("epoch 1");
  v1::BarrierRequest first;
  const auto lost = coordinator_.Next(&first);
  stream_->End(absl::UnavailableError("connection reset"));
  coordinator_.WaitUntilCancelled(*lost);
  const auto stream = coordinator_.NextStream();
  EXPECT_EQ(stream->request.epoch().nonce(), 42);
  EXPECT_GT(stream->request.attempt(), first.context().call().attempt());
  stream->Accept(2);
  v1::BarrierRequest second;
  const auto call = coordinator_.Next(&second);
  EXPECT_EQ(second.context().sequence(), first.context().sequence());
  EXPECT_EQ(second.context().label(), "epoch 1");
  EXPECT_EQ(second.context().call().session().counter(), 2);
  EXPECT_GT(second.context().call().attempt(), first.context().call().attempt());
  call->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(done.get().ok());
}

TEST_F(RemoteControlPlaneTest, AbortedInAnOldSessionBreaksNothing) {
  Join();
  auto done = StartBarrier("x");
  const auto old_call = coordinator_.NextCall();
  // The stream's end is known before the reply: the reply is of no session.
  stream_->End(absl::UnavailableError("connection reset"));
  old_call->Reply(absl::AbortedError("the session was replaced"));
  coordinator_.NextStream()->Accept(2);
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(done.get().ok());
  EXPECT_TRUE(job_->health().ok());
}

TEST_F(RemoteControlPlaneTest, UnavailableIsTriedAgainUntilTheCoordinatorTimeout) {
  options_.coordinator_timeout = absl::Milliseconds(300);
  Join();
  coordinator_.AnswerAll(absl::UnavailableError("recovering"));
  const absl::Status status = job_->Barrier("x");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status),
              HasSubstr("Barrier('x') op 0 of the world: rank 1 of job 'run' could "
                        "not reach the coordinator at fake:1 for "));
  EXPECT_THAT(Message(status), HasSubstr("last error: recovering"));
}

TEST_F(RemoteControlPlaneTest, LostConnectionIsGivenUpAfterTheCoordinatorTimeout) {
  options_.coordinator_timeout = absl::Milliseconds(200);
  Join();
  stream_->End(absl::UnavailableError("connection reset by peer"));
  const absl::Status status = StartBarrier("x").get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("last error: connection reset by peer"));
}

TEST_F(RemoteControlPlaneTest, TimeOutIsTheCoordinatorsToTellAndMayBeRepeated) {
  Join();
  auto done = StartBarrier("x", {absl::Seconds(20)});
  v1::BarrierRequest first;
  auto call = coordinator_.Next(&first);
  EXPECT_LE(first.context().call().wait_timeout().seconds(), 20);
  call->Reply(absl::DeadlineExceededError("rank 0 is missing"));
  EXPECT_EQ(done.get(), absl::DeadlineExceededError("rank 0 is missing"));
  EXPECT_THAT(Message(job_->Barrier("other")),
              HasSubstr("Barrier('x') op 0 of the world was sent"));
  done = StartBarrier("x");
  v1::BarrierRequest second;
  call = coordinator_.Next(&second);
  EXPECT_EQ(second.context().sequence(), 0);
  call->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(done.get().ok());
}

TEST_F(RemoteControlPlaneTest, CancelledCallIsWithdrawn) {
  Join();
  Cancellation cancellation;
  auto done = StartBarrier("x", {std::nullopt, &cancellation});
  const auto call = coordinator_.NextCall();
  cancellation.Cancel();
  EXPECT_EQ(done.get().code(), absl::StatusCode::kCancelled);
  coordinator_.WaitUntilCancelled(*call);
  done = StartBarrier("x");
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(done.get().ok());
}

TEST_F(RemoteControlPlaneTest, OverlappingCollectivesOfAGroupAreRefused) {
  Join();
  auto done = StartBarrier("x");
  const auto call = coordinator_.NextCall();
  EXPECT_THAT(Message(job_->Barrier("y")), HasSubstr("in progress in another thread"));
  call->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(done.get().ok());
}

TEST_F(RemoteControlPlaneTest, BrokenEpochEndsEveryCallWithItsReason) {
  Join();
  const absl::Status lost = absl::AbortedError("rank 0 (node a, pid 7) was killed by signal 9");
  std::promise<absl::Status> told;
  const Subscription subscription =
      job_->OnFailure([&](const absl::Status& status) { told.set_value(status); });
  auto barrier = StartBarrier("x");
  const auto call = coordinator_.NextCall();
  auto watcher =
      std::async(std::launch::async, [&] { return job_->AwaitFailure(absl::InfiniteDuration()); });
  stream_->Break(TheEpoch(), Message(lost));
  EXPECT_EQ(barrier.get(), lost);
  EXPECT_EQ(watcher.get(), lost);
  EXPECT_EQ(told.get_future().get(), lost);
  EXPECT_EQ(job_->health(), lost);
  EXPECT_EQ(job_->Barrier("later"), lost);
  EXPECT_EQ(job_->AcquireLease("work", LeaseScope::kJob).status(), lost);
  coordinator_.WaitUntilCancelled(*call);
  absl::Status late;
  const Subscription at_once = job_->OnFailure([&](const absl::Status& status) { late = status; });
  EXPECT_EQ(late, lost);
}

TEST_F(RemoteControlPlaneTest, AnotherEpochsEndIsIgnored) {
  Join();
  v1::EpochId other = TheEpoch();
  other.set_nonce(43);
  stream_->Break(other, "not ours");
  EXPECT_TRUE(job_->health().ok());
}

TEST_F(RemoteControlPlaneTest, AbortedReplyBreaksTheJob) {
  Join();
  auto done = StartBarrier("x");
  coordinator_.NextCall()->Reply(absl::AbortedError("rank 0 was lost"));
  EXPECT_EQ(done.get(), absl::AbortedError("rank 0 was lost"));
  EXPECT_EQ(job_->health(), absl::AbortedError("rank 0 was lost"));
}

TEST_F(RemoteControlPlaneTest, FinalRefusalOfAReattachBreaksTheJob) {
  Join();
  auto done = StartBarrier("x");
  coordinator_.NextCall();
  stream_->End(absl::UnavailableError("connection reset"));
  coordinator_.NextStream()->End(absl::FailedPreconditionError("this member has left"));
  EXPECT_EQ(done.get(), absl::AbortedError("this member has left"));
}

TEST_F(RemoteControlPlaneTest, EndedSubscriptionIsNotCalled) {
  Join();
  bool first = false;
  std::promise<void> second;
  {
    const Subscription ended = job_->OnFailure([&](const absl::Status&) { first = true; });
  }
  const Subscription open = job_->OnFailure([&](const absl::Status&) { second.set_value(); });
  stream_->Break(TheEpoch(), "lost");
  second.get_future().wait();
  EXPECT_FALSE(first);
}

TEST_F(RemoteControlPlaneTest, LeaseIsAcquiredAndCompleted) {
  Join();
  auto value = std::async(std::launch::async, [&] {
    return job_->RunOncePerNode("unpack", [] { return std::string("path"); });
  });
  v1::AcquireLeaseRequest acquire;
  auto call = coordinator_.Next(&acquire);
  EXPECT_EQ(acquire.name(), "unpack");
  EXPECT_EQ(acquire.scope(), v1::LEASE_SCOPE_NODE);
  v1::AcquireLeaseResponse granted;
  granted.mutable_granted()->set_token(77);
  call->Reply(absl::OkStatus(), granted);
  v1::CompleteLeaseRequest complete;
  call = coordinator_.Next(&complete);
  EXPECT_EQ(complete.result().token(), 77);
  EXPECT_EQ(complete.result().value(), Encode(std::string("path")));
  // Completing is tried again.
  call->Reply(absl::UnavailableError("connection reset"));
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::CompleteLeaseResponse());
  EXPECT_EQ(*value.get(), "path");
}

TEST_F(RemoteControlPlaneTest, ErrorOfLeasedWorkTravels) {
  Join();
  auto value = std::async(std::launch::async, [&] {
    return job_->RunOncePerJob("unpack", []() -> absl::StatusOr<int> { return 1; });
  });
  v1::AcquireLeaseResponse completed;
  completed.mutable_completed()->mutable_error()->set_code(15);
  completed.mutable_completed()->mutable_error()->set_message("disk full");
  coordinator_.NextCall()->Reply(absl::OkStatus(), completed);
  EXPECT_EQ(value.get().status(), absl::DataLossError("disk full"));
}

TEST_F(RemoteControlPlaneTest, ResultOverTheLimitFailsTheWorkForAll) {
  Join();
  auto value = std::async(std::launch::async, [&] {
    return job_->RunOncePerJob("unpack", [] { return std::string(2000, 'x'); });
  });
  v1::AcquireLeaseResponse granted;
  granted.mutable_granted()->set_token(77);
  coordinator_.NextCall()->Reply(absl::OkStatus(), granted);
  v1::CompleteLeaseRequest complete;
  coordinator_.Next(&complete)->Reply(absl::OkStatus(), v1::CompleteLeaseResponse());
  EXPECT_EQ(complete.result().error().code(), 8);
  EXPECT_EQ(value.get().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(RemoteControlPlaneTest, LeaseThatIsNoLongerWaitedForIsAbandonedUntilAcknowledged) {
  Join();
  Cancellation cancellation;
  auto lease = std::async(std::launch::async, [&] {
    return job_->AcquireLease("work", LeaseScope::kJob, {std::nullopt, &cancellation}).status();
  });
  v1::AcquireLeaseRequest acquire;
  coordinator_.Next(&acquire);
  cancellation.Cancel();
  EXPECT_EQ(lease.get().code(), absl::StatusCode::kCancelled);
  v1::AbandonLeaseRequest abandon;
  coordinator_.Next(&abandon)->Reply(absl::UnavailableError("connection reset"));
  EXPECT_EQ(abandon.request_id(), acquire.request_id());
  EXPECT_EQ(abandon.name(), "work");
  coordinator_.Next(&abandon)->Reply(absl::OkStatus(), v1::AbandonLeaseResponse());
  EXPECT_EQ(abandon.request_id(), acquire.request_id());
}

TEST_F(RemoteControlPlaneTest, DestroyedLeaseIsGivenUpByItsRequest) {
  Join();
  auto lease =
      std::async(std::launch::async, [&] { return job_->AcquireLease("work", LeaseScope::kJob); });
  v1::AcquireLeaseRequest acquire;
  v1::AcquireLeaseResponse granted;
  granted.mutable_granted()->set_token(77);
  coordinator_.Next(&acquire)->Reply(absl::OkStatus(), granted);
  { const absl::StatusOr<Lease> held = lease.get(); }
  v1::AbandonLeaseRequest abandon;
  const auto call = coordinator_.Next(&abandon);
  EXPECT_EQ(abandon.request_id(), acquire.request_id());
  // Leaving waits for it.
  auto left = std::async(std::launch::async, [&] { return job_->Leave(); });
  call->Reply(absl::OkStatus(), v1::AbandonLeaseResponse());
  v1::LeaveRequest leave;
  coordinator_.Next(&leave)->Reply(absl::OkStatus(), v1::LeaveResponse());
  EXPECT_TRUE(left.get().ok());
}

TEST_F(RemoteControlPlaneTest, LeavingEndsTheUseOfTheJob) {
  Join();
  auto left = std::async(std::launch::async, [&] { return job_->Leave(); });
  const auto call = coordinator_.NextCall();
  EXPECT_THAT(Message(job_->Barrier()), HasSubstr("rank 1 has left job 'run'"));
  call->Reply(absl::OkStatus(), v1::LeaveResponse());
  EXPECT_TRUE(left.get().ok());
  EXPECT_TRUE(job_->Leave().ok());
  stream_->End(absl::OkStatus());
  EXPECT_EQ(job_->AcquireLease("x", LeaseScope::kJob).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(job_->health().ok());
}

TEST_F(RemoteControlPlaneTest, LeavingAJobThatBreaksIsFine) {
  Join();
  auto left = std::async(std::launch::async, [&] { return job_->Leave(); });
  coordinator_.NextCall();
  stream_->Break(TheEpoch(), "rank 0 was lost");
  EXPECT_TRUE(left.get().ok());
}

TEST_F(RemoteControlPlaneTest, LeavingNamesWhoStays) {
  Join();
  auto left = std::async(std::launch::async, [&] { return job_->Leave(); });
  coordinator_.NextCall()->Reply(absl::DeadlineExceededError("rank 0 is not leaving"));
  EXPECT_EQ(left.get(), absl::DeadlineExceededError("rank 0 is not leaving"));
}

TEST_F(RemoteControlPlaneTest, DestructorWaitsForNobody) {
  Join();
  Cancellation cancellation;
  auto done = StartBarrier("x", {std::nullopt, &cancellation});
  coordinator_.NextCall();
  cancellation.Cancel();
  EXPECT_EQ(done.get().code(), absl::StatusCode::kCancelled);
  job_.reset();
  EXPECT_TRUE(stream_->ended);
}

}  // namespace
}  // namespace muster::internal
