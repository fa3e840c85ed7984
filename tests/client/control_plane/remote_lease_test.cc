// Tests of leases and of leaving. The test plays the coordinator by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/client/control_plane/remote_test.h"

namespace muster::internal {
namespace {

using ::testing::HasSubstr;

using RemoteLeaseTest = RemoteTest;

TEST_F(RemoteLeaseTest, LeaseIsAcquiredAndCompleted) {
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
  // Completing is retried.
  call->Reply(absl::UnavailableError("connection reset"));
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::CompleteLeaseResponse());
  EXPECT_EQ(*value.get(), "path");
}

TEST_F(RemoteLeaseTest, ErrorOfLeasedWorkTravels) {
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

TEST_F(RemoteLeaseTest, ResultOverTheLimitFailsTheWorkForAll) {
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

TEST_F(RemoteLeaseTest, LeaseThatIsNoLongerWaitedForIsAbandonedUntilAcknowledged) {
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

TEST_F(RemoteLeaseTest, DestroyedLeaseIsGivenUpByItsRequest) {
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
  // Leave() waits for the lease's call.
  auto left = std::async(std::launch::async, [&] { return job_->Leave(); });
  call->Reply(absl::OkStatus(), v1::AbandonLeaseResponse());
  v1::LeaveRequest leave;
  coordinator_.Next(&leave)->Reply(absl::OkStatus(), v1::LeaveResponse());
  EXPECT_TRUE(left.get().ok());
}

TEST_F(RemoteLeaseTest, LeavingEndsTheUseOfTheJob) {
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

TEST_F(RemoteLeaseTest, LeavingABreakingJobSucceeds) {
  Join();
  auto left = std::async(std::launch::async, [&] { return job_->Leave(); });
  const auto call = coordinator_.NextCall();
  stream_->Break(TheEpoch(), "rank 0 was lost");
  call->Reply(absl::UnavailableError("connection reset"));
  EXPECT_TRUE(left.get().ok());
}

TEST_F(RemoteLeaseTest, LeavingNamesTheRemainingRanks) {
  Join();
  auto left = std::async(std::launch::async, [&] { return job_->Leave(); });
  const auto call = coordinator_.NextCall();
  // The coordinator now counts this process as lost. That news may arrive before its reply.
  stream_->End(absl::AbortedError("this process was lost"));
  EXPECT_FALSE(job_->AwaitFailure(absl::InfiniteDuration()).ok());
  call->Reply(absl::DeadlineExceededError("rank 0 is not leaving"));
  EXPECT_EQ(left.get(), absl::DeadlineExceededError("rank 0 is not leaving"));
}

TEST_F(RemoteLeaseTest, DestructorDoesNotBlock) {
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
