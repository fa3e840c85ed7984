// Tests of the next epoch, newcomers and agreed stops. The test plays the coordinator by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/client/control_plane/remote_test.h"

namespace muster::internal {
namespace {

using ::testing::HasSubstr;

v1::EpochId NextEpoch() {
  v1::EpochId epoch;
  epoch.set_number(101);
  epoch.set_nonce(43);
  return epoch;
}

// Returns the place of rank 0 of 2, for a member that was rank 1. The other member is new.
v1::RejoinResponse NextPlace() {
  v1::RejoinResponse place;
  *place.mutable_epoch() = NextEpoch();
  for (int rank = 0; rank < 2; ++rank) {
    place.add_roster()->mutable_member()->set_node_id("node");
  }
  place.mutable_roster(0)->set_previous_rank(1);
  return place;
}

class RemoteRejoinTest : public RemoteTest {
 protected:
  std::future<absl::Status> StartRejoin() {
    return std::async(std::launch::async, [&] { return job_->Rejoin(); });
  }

  void Rejoin() {
    auto rejoined = StartRejoin();
    coordinator_.NextCall()->Reply(absl::OkStatus(), NextPlace());
    ASSERT_EQ(rejoined.get(), absl::OkStatus());
  }

  void SendNewcomers(uint32_t waiting, uint32_t places) {
    v1::AttachResponse response;
    *response.mutable_newcomers_waiting()->mutable_epoch() = TheEpoch();
    response.mutable_newcomers_waiting()->set_waiting(waiting);
    response.mutable_newcomers_waiting()->set_free_places(places);
    stream_->Send(response);
  }

  absl::Status Barrier(bool stop) {
    auto done = StartBarrier("x");
    v1::BarrierResponse response;
    response.set_stop_requested(stop);
    coordinator_.NextCall()->Reply(absl::OkStatus(), response);
    return done.get();
  }
};

TEST_F(RemoteRejoinTest, RejoinLeadsTheSameJobIntoTheNextEpoch) {
  Join();
  const Group& old_world = job_->world();
  const absl::Status lost = absl::AbortedError("rank 0 was lost");
  stream_->Break(TheEpoch(), "rank 0 was lost", true);
  EXPECT_EQ(job_->AwaitFailure(absl::InfiniteDuration()), lost);

  auto rejoined = StartRejoin();
  v1::RejoinRequest request;
  const auto call = coordinator_.Next(&request);
  EXPECT_EQ(request.claim().epoch().nonce(), 42);
  EXPECT_EQ(request.claim().broken().reason(), "rank 0 was lost");
  EXPECT_EQ(request.claim().roster_size(), 0);
  call->Reply(absl::OkStatus(), NextPlace());
  EXPECT_EQ(rejoined.get(), absl::OkStatus());

  EXPECT_EQ(job_->epoch(), 101);
  EXPECT_EQ(job_->rank(), 0);
  EXPECT_TRUE(job_->resumed());
  EXPECT_EQ(job_->self().previous_rank, 1);
  EXPECT_EQ(job_->members()[1].previous_rank, std::nullopt);
  EXPECT_TRUE(job_->health().ok());
  auto done = StartBarrier("again");
  v1::BarrierRequest barrier;
  coordinator_.Next(&barrier)->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_EQ(barrier.context().epoch().number(), 101);
  EXPECT_EQ(barrier.context().sequence(), 0);
  EXPECT_TRUE(done.get().ok());
  // Objects that were made before still belong to the old epoch.
  EXPECT_EQ(old_world.rank(), 1);
  EXPECT_EQ(old_world.health(), lost);
  EXPECT_EQ(old_world.Barrier("old"), lost);
}

TEST_F(RemoteRejoinTest, RejoinOfAWholeEpochEndsItsCallsAndTellsItsListeners) {
  Join();
  const Group old_world = job_->world();
  std::promise<absl::Status> told;
  const Subscription subscription =
      job_->OnFailure([&](const absl::Status& status) { told.set_value(status); });
  auto waiting = StartBarrier("x");
  coordinator_.NextCall();
  Rejoin();
  EXPECT_THAT(Message(waiting.get()), HasSubstr("epoch 100 has ended: this process, rank 1 of it, "
                                                "is rank 0 of epoch 101"));
  EXPECT_EQ(told.get_future().get(), old_world.health());
  EXPECT_TRUE(job_->health().ok());
}

TEST_F(RemoteRejoinTest, ReattachDuringRejoinClaimsTheOldEpochAndRepeatsTheCall) {
  Join();
  auto rejoined = StartRejoin();
  coordinator_.NextCall();
  stream_->End(absl::UnavailableError("connection reset"));
  const auto stream = coordinator_.NextStream();
  EXPECT_EQ(stream->request.claim().epoch().nonce(), 42);
  stream->Accept(2);
  coordinator_.NextCall()->Reply(absl::OkStatus(), NextPlace());
  EXPECT_TRUE(rejoined.get().ok());
}

TEST_F(RemoteRejoinTest, AnEarlyLossOfTheNextEpochIsKept) {
  Join();
  auto rejoined = StartRejoin();
  const auto call = coordinator_.NextCall();
  stream_->Break(NextEpoch(), "rank 1 was lost");
  call->Reply(absl::OkStatus(), NextPlace());
  EXPECT_TRUE(rejoined.get().ok());
  EXPECT_EQ(job_->health(), absl::AbortedError("rank 1 was lost"));
}

TEST_F(RemoteRejoinTest, RefusalsKeepTheirCodeAndTheEpochItsEnd) {
  Join();
  auto rejoined = StartRejoin();
  coordinator_.NextCall()->Reply(absl::FailedPreconditionError("the job is not elastic"));
  EXPECT_EQ(rejoined.get(), absl::FailedPreconditionError("the job is not elastic"));
  EXPECT_TRUE(job_->health().ok());
  rejoined = StartRejoin();
  coordinator_.NextCall()->Reply(absl::AbortedError("this process was lost"));
  EXPECT_EQ(rejoined.get(), absl::AbortedError("this process was lost"));
  EXPECT_EQ(job_->Rejoin(), absl::AbortedError("this process was lost"));
}

TEST_F(RemoteRejoinTest, RejoinOfAJobThatIsNotElasticEndsAtOnce) {
  Join();
  auto rejoined = StartRejoin();
  coordinator_.NextCall();
  stream_->Break(TheEpoch(), "rank 0 was lost", false);
  const absl::Status refused = rejoined.get();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("not elastic (musterd --min-world-size) or has failed "
                                          "for good: rank 0 was lost"));
  EXPECT_EQ(job_->Rejoin(), refused);
}

TEST_F(RemoteRejoinTest, OneThreadRejoins) {
  Join();
  auto rejoined = StartRejoin();
  const auto call = coordinator_.NextCall();
  EXPECT_THAT(Message(job_->Rejoin()), HasSubstr("is already rejoining in another thread"));
  call->Reply(absl::OkStatus(), NextPlace());
  EXPECT_TRUE(rejoined.get().ok());
}

TEST_F(RemoteRejoinTest, LeaseOutlivesItsEpoch) {
  Join();
  auto acquired =
      std::async(std::launch::async, [&] { return job_->AcquireLease("work", LeaseScope::kJob); });
  v1::AcquireLeaseResponse granted;
  granted.mutable_granted()->set_token(77);
  coordinator_.NextCall()->Reply(absl::OkStatus(), granted);
  Lease lease = *acquired.get();
  Rejoin();
  auto completed = std::async(std::launch::async, [&] { return lease.Complete("done"); });
  v1::CompleteLeaseRequest complete;
  coordinator_.Next(&complete)->Reply(absl::OkStatus(), v1::CompleteLeaseResponse());
  EXPECT_EQ(complete.result().token(), 77);
  EXPECT_TRUE(completed.get().ok());
}

TEST_F(RemoteRejoinTest, NewcomersAreSeenAsFarAsThereArePlaces) {
  Join();
  EXPECT_EQ(job_->NewcomersWaiting(), 0);
  std::promise<void> told;
  const Subscription subscription = job_->OnNewcomers([&] { told.set_value(); });
  SendNewcomers(2, 0);
  EXPECT_EQ(job_->NewcomersWaiting(), 0);
  SendNewcomers(2, 1);
  told.get_future().wait();
  EXPECT_EQ(job_->NewcomersWaiting(), 1);
  SendNewcomers(0, 1);
  EXPECT_EQ(job_->NewcomersWaiting(), 0);
  SendNewcomers(1, 1);
  Rejoin();
  EXPECT_EQ(job_->NewcomersWaiting(), 0);
}

TEST_F(RemoteRejoinTest, StopIsRequestedOnceACollectiveOfTheWorldSaysSo) {
  Join();
  EXPECT_TRUE(Barrier(false).ok());
  auto asked = std::async(std::launch::async, [&] { return job_->RequestStop(); });
  v1::RequestStopRequest request;
  const auto call = coordinator_.Next(&request);
  EXPECT_EQ(request.call().session().counter(), 1);
  call->Reply(absl::OkStatus(), v1::RequestStopResponse());
  EXPECT_TRUE(asked.get().ok());
  EXPECT_FALSE(job_->StopRequested());
  EXPECT_TRUE(Barrier(true).ok());
  EXPECT_TRUE(job_->StopRequested());
  stream_->End(absl::UnavailableError("connection reset"));
  stream_ = coordinator_.NextStream();
  EXPECT_TRUE(stream_->request.claim().stop_asked());
  EXPECT_EQ(stream_->request.claim().stop_sequence(), 1);
  stream_->Accept(2);
  Rejoin();
  EXPECT_FALSE(job_->StopRequested());
}

TEST_F(RemoteRejoinTest, CallSiteTravels) {
  Join();
  auto done = std::async(std::launch::async, [&] { return job_->AllGather(1, {}); });
  v1::AllGatherRequest request;
  const auto call = coordinator_.Next(&request);
  EXPECT_THAT(request.context().call_site(), HasSubstr("remote_rejoin_test.cc:"));
  EXPECT_FALSE(request.context().has_payload_size());
  call->Reply(absl::AbortedError("enough"));
}

TEST_F(RemoteRejoinTest, ThePayloadSizeTravelsIfAllRanksMustMatch) {
  Join();
  CallOptions options;
  options.require_equal_sizes = true;
  auto done = std::async(std::launch::async, [&] {
    return job_->AllGather(std::vector<int32_t>{1, 2}, options);
  });
  v1::AllGatherRequest request;
  const auto call = coordinator_.Next(&request);
  EXPECT_EQ(request.context().payload_size(), request.payload().size());
  call->Reply(absl::AbortedError("enough"));
}

}  // namespace
}  // namespace muster::internal
