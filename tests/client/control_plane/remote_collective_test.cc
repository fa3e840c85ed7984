// Tests of collectives, broken connections and broken epochs. The test plays the coordinator by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>

#include "absl/strings/str_cat.h"
#include "tests/client/control_plane/remote_test.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using RemoteCollectiveTest = RemoteTest;

TEST_F(RemoteCollectiveTest, CollectivesCarryTheirContent) {
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

TEST_F(RemoteCollectiveTest, GroupsHaveSequencesOfTheirOwn) {
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
    EXPECT_EQ(request.context().group().ranks_size(), sequence == 0 ? 2 : 0);
    EXPECT_TRUE(done.get().ok());
  }
}

TEST_F(RemoteCollectiveTest, AGroupsNameGoesWithOneOrderOfItsRanks) {
  Join();
  const absl::StatusOr<Group> pair = job_->NewGroup("pair", {1, 0});
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(job_->NewGroup("pair", {0, 1}).status().message(),
            "group 'pair' exists with ranks 1,0; ranks 0,1 are the same ranks in another order: "
            "groups of one name must be the same list or share no rank");
}

// The member reports released groups after a while, or once there are enough of them.
TEST_F(RemoteCollectiveTest, GroupsWithoutAHandleAreReleased) {
  Join();
  int released = 0;
  const auto answer_next = [&] {
    const auto call = coordinator_.NextCall();
    if (const auto* news = std::get_if<v1::ReleaseGroupsRequest>(&call->request)) {
      released += news->released_size();
      call->Reply(absl::OkStatus(), v1::ReleaseGroupsResponse());
      return false;
    }
    call->Reply(absl::OkStatus(), v1::BarrierResponse());
    return true;
  };
  const absl::StatusOr<Group> kept = job_->NewGroup("kept", {0, 1});
  ASSERT_TRUE(kept.ok());
  const auto barrier = [&](const std::function<absl::Status()>& call) {
    auto done = std::async(std::launch::async, call);
    while (!answer_next()) {
    }
    EXPECT_TRUE(done.get().ok());
  };
  for (int step = 0; step < 8; ++step) {
    barrier([&] { return job_->NewGroup(absl::StrCat("step ", step), {0, 1})->Barrier(); });
    barrier([&] { return kept->Barrier(); });
  }
  while (released < 8) answer_next();
  EXPECT_EQ(released, 8);
}

TEST_F(RemoteCollectiveTest, GroupsNameTheirRanksUntilACallOfTheSessionWasAnswered) {
  Join();
  const absl::StatusOr<Group> group = job_->NewGroup("pair", {1, 0});
  ASSERT_TRUE(group.ok());
  const auto call = [&](const absl::Status& answer) {
    auto done = std::async(std::launch::async, [&] { return group->Barrier(); });
    v1::BarrierRequest request;
    coordinator_.Next(&request)->Reply(answer, v1::BarrierResponse());
    EXPECT_EQ(done.get().code(), answer.code());
    const auto& ranks = request.context().group().ranks();
    return std::vector<int>(ranks.begin(), ranks.end());
  };
  EXPECT_THAT(call(absl::DeadlineExceededError("rank 0 is missing")), ElementsAre(1, 0));
  EXPECT_THAT(call(absl::OkStatus()), ElementsAre(1, 0));
  EXPECT_THAT(call(absl::OkStatus()), IsEmpty());
  stream_->End(absl::UnavailableError("connection reset"));
  stream_ = coordinator_.NextStream();
  stream_->Accept(2);
  EXPECT_THAT(call(absl::OkStatus()), ElementsAre(1, 0)) << "another daemon may be there";
  EXPECT_THAT(call(absl::OkStatus()), IsEmpty());
}

TEST_F(RemoteCollectiveTest, LimitsAreCheckedBeforeAnythingIsSent) {
  Join();
  const absl::Status status = job_->AllGather(std::string(2000, 'x')).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("at most 1000 (musterd --max-payload-bytes)"));
  const absl::Status label = job_->Barrier(std::string(65, 'x'));
  EXPECT_EQ(label.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(label), HasSubstr("at most 64"));
  const std::string file(1100, 'f');
  const absl::Status site = job_->Barrier("step", {}, CallSite{file.c_str(), 7});
  EXPECT_EQ(site.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(site), HasSubstr("at most 1024"));
}

TEST_F(RemoteCollectiveTest, AfterARefusalToAllTheNumberIsCalledAgainWithOtherContent) {
  Join();
  auto large = std::async(std::launch::async, [&] { return job_->AllGather(std::string(9, 'x')); });
  v1::AllGatherRequest first;
  coordinator_.Next(&first)->Reply(absl::OutOfRangeError("the answer has 5000 bytes"),
                                   v1::AllGatherResponse());
  EXPECT_EQ(first.context().refusals(), 0u);
  const absl::Status refused = large.get().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(refused), HasSubstr("the answer has 5000 bytes"));
  auto done = StartBarrier("instead");
  v1::BarrierRequest second;
  coordinator_.Next(&second)->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_EQ(second.context().sequence(), 0u);
  EXPECT_EQ(second.context().refusals(), 1u);
  EXPECT_TRUE(done.get().ok());
}

TEST_F(RemoteCollectiveTest, CallIsSentAgainInTheNextSession) {
  Join();
  auto done = StartBarrier("epoch 1");
  v1::BarrierRequest first;
  const auto lost = coordinator_.Next(&first);
  stream_->End(absl::UnavailableError("connection reset"));
  coordinator_.WaitUntilCancelled(*lost);
  const auto stream = coordinator_.NextStream();
  EXPECT_EQ(stream->request.claim().epoch().nonce(), 42);
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

TEST_F(RemoteCollectiveTest, AbortedInAnOldSessionBreaksNothing) {
  Join();
  auto done = StartBarrier("x");
  const auto old_call = coordinator_.NextCall();
  // The stream's end is known before the reply, so the reply belongs to no session.
  stream_->End(absl::UnavailableError("connection reset"));
  old_call->Reply(absl::AbortedError("the session was replaced"));
  coordinator_.NextStream()->Accept(2);
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(done.get().ok());
  EXPECT_TRUE(job_->health().ok());
}

TEST_F(RemoteCollectiveTest, UnavailableIsTriedAgainUntilTheCoordinatorTimeout) {
  options_.coordinator_timeout = absl::Seconds(2);
  Join();
  coordinator_.AnswerAll(absl::UnavailableError("recovering"));
  const absl::Status status = job_->Barrier("x");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status),
              HasSubstr("Barrier('x') op 0 of the world: rank 1 of job 'run' could "
                        "not reach the coordinator at fake:1 for "));
  EXPECT_THAT(Message(status), HasSubstr("last error: recovering"));
}

TEST_F(RemoteCollectiveTest, LostConnectionIsGivenUpAfterTheCoordinatorTimeout) {
  options_.coordinator_timeout = absl::Seconds(2);
  Join();
  stream_->End(absl::UnavailableError("connection reset by peer"));
  const absl::Status status = StartBarrier("x").get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("last error: connection reset by peer"));
}

TEST_F(RemoteCollectiveTest, ATimeOutComesFromTheCoordinatorAndMayBeRetried) {
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

TEST_F(RemoteCollectiveTest, CancelledCallIsWithdrawn) {
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

TEST_F(RemoteCollectiveTest, OverlappingCollectivesOfAGroupAreRefused) {
  Join();
  auto done = StartBarrier("x");
  const auto call = coordinator_.NextCall();
  EXPECT_THAT(Message(job_->Barrier("y")), HasSubstr("in progress in another thread"));
  call->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(done.get().ok());
}

TEST_F(RemoteCollectiveTest, BrokenEpochEndsEveryCallWithItsReason) {
  Join();
  const absl::Status lost = absl::AbortedError("rank 0 (node 'a', pid 7) was killed by signal 9");
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

TEST_F(RemoteCollectiveTest, AnotherEpochsEndIsIgnored) {
  Join();
  v1::EpochId other = TheEpoch();
  other.set_nonce(43);
  stream_->Break(other, "not ours");
  EXPECT_TRUE(job_->health().ok());
}

TEST_F(RemoteCollectiveTest, AbortedReplyBreaksTheJob) {
  Join();
  auto done = StartBarrier("x");
  coordinator_.NextCall()->Reply(absl::AbortedError("rank 0 was lost"));
  EXPECT_EQ(done.get(), absl::AbortedError("rank 0 was lost"));
  EXPECT_EQ(job_->health(), absl::AbortedError("rank 0 was lost"));
}

TEST_F(RemoteCollectiveTest, FinalRefusalOfAReattachBreaksTheJob) {
  Join();
  auto done = StartBarrier("x");
  coordinator_.NextCall();
  stream_->End(absl::UnavailableError("connection reset"));
  coordinator_.NextStream()->End(absl::FailedPreconditionError("this member has left"));
  EXPECT_EQ(done.get(), absl::AbortedError("this member has left"));
}

TEST_F(RemoteCollectiveTest, EndedSubscriptionIsNotCalled) {
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

}  // namespace
}  // namespace muster::internal
