// Tests of what a member tells a restarted coordinator and does for it. The test plays the
// coordinator by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "muster/log.h"
#include "tests/client/control_plane/remote_test.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RemoteRestartTest : public RemoteTest {
 protected:
  // Disconnects the member, and returns the Attach that the restarted coordinator gets.
  std::shared_ptr<FakeCoordinator::Stream> Restart() {
    stream_->End(absl::UnavailableError("connection reset"));
    stream_ = coordinator_.NextStream();
    return stream_;
  }

  std::string AllGather(const std::string& value) {
    auto done = std::async(std::launch::async, [&] { return job_->AllGather(value); });
    v1::AllGatherResponse response;
    response.add_payloads(Encode(value));
    response.add_payloads(Encode(value));
    coordinator_.NextCall()->Reply(absl::OkStatus(), response);
    return done.get()->front();
  }

  Lease Acquire(const std::string& name, uint64_t token) {
    auto lease =
        std::async(std::launch::async, [&] { return job_->AcquireLease(name, LeaseScope::kJob); });
    v1::AcquireLeaseResponse granted;
    granted.mutable_granted()->set_token(token);
    coordinator_.NextCall()->Reply(absl::OkStatus(), granted);
    return *lease.get();
  }

  static v1::AttachResponse Need(uint64_t sequence) {
    v1::AttachResponse response;
    *response.mutable_need_contribution()->mutable_epoch() = TheEpoch();
    response.mutable_need_contribution()->set_sequence(sequence);
    return response;
  }
};

TEST_F(RemoteRestartTest, NewcomerClaimsNothing) {
  auto joining = StartJoin();
  const auto stream = coordinator_.NextStream();
  EXPECT_FALSE(stream->request.has_claim());
  stream->End(absl::NotFoundError("another job"));
  EXPECT_FALSE(joining.get().ok());
}

TEST_F(RemoteRestartTest, MemberClaimsItsPlaceAndWhatItHasCompleted) {
  Join();
  AllGather("first");
  auto waiting = StartBarrier("second");
  coordinator_.NextCall();
  const v1::Claim claim = Restart()->request.claim();
  EXPECT_EQ(claim.epoch().nonce(), 42);
  EXPECT_EQ(claim.rank(), 1);
  EXPECT_EQ(claim.roster_size(), 0) << "one of all is asked for it";
  EXPECT_EQ(claim.highest_epoch_number(), 100);
  ASSERT_EQ(claim.groups_size(), 1);
  EXPECT_EQ(claim.groups(0).group().name(), "");
  EXPECT_EQ(claim.groups(0).next_sequence(), 1);
  EXPECT_EQ(claim.groups(0).finished(), "");
  EXPECT_FALSE(claim.has_broken());
  EXPECT_FALSE(claim.leaving());
  stream_->Accept(2);
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(waiting.get().ok());
}

TEST_F(RemoteRestartTest, TheRosterIsSentOnRequest) {
  Join();
  const auto asked = Restart();
  v1::AttachResponse need;
  *need.mutable_need_roster()->mutable_epoch() = TheEpoch();
  asked->Send(need);
  stream_ = coordinator_.NextStream();
  EXPECT_EQ(stream_->request.claim().roster_size(), 2);
  EXPECT_GT(stream_->request.attempt(), asked->request.attempt());
  stream_->Accept(3);
  auto barrier = StartBarrier("x");
  v1::BarrierRequest request;
  coordinator_.Next(&request)->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_EQ(request.context().call().session().counter(), 3);
  EXPECT_TRUE(barrier.get().ok());
  EXPECT_EQ(Restart()->request.claim().roster_size(), 0) << "asked again if need be";
}

TEST_F(RemoteRestartTest, ContributionToACompletedCollectiveIsSentAgainBesideTheNext) {
  Join();
  AllGather("first");
  auto waiting = StartBarrier("second");
  coordinator_.NextCall();
  Restart()->Accept(2);
  v1::BarrierRequest barrier;
  const auto call = coordinator_.Next(&barrier);
  stream_->Send(Need(0));
  v1::AllGatherRequest repeated;
  const auto contribution = coordinator_.Next(&repeated);
  EXPECT_EQ(repeated.context().sequence(), 0);
  EXPECT_EQ(repeated.payload(), Encode(std::string("first")));
  EXPECT_EQ(repeated.context().call().session().counter(), 2);
  EXPECT_GT(repeated.context().call().attempt(), barrier.context().call().attempt());
  // The answer is ignored, whatever it is.
  contribution->Reply(absl::AbortedError("ignored"));
  EXPECT_TRUE(job_->health().ok());
  call->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(waiting.get().ok());
}

TEST_F(RemoteRestartTest, OnlyTheLatestContributionIsSentAgain) {
  Join();
  AllGather("first");
  AllGather("second");
  stream_->Send(Need(0));
  stream_->Send(Need(2));
  stream_->Send(Need(1));
  v1::AllGatherRequest repeated;
  coordinator_.Next(&repeated);
  EXPECT_EQ(repeated.context().sequence(), 1);
}

TEST_F(RemoteRestartTest, BrokenEpochIsClaimed) {
  Join();
  stream_->Break(TheEpoch(), "rank 0 was lost");
  EXPECT_FALSE(job_->AwaitFailure(absl::InfiniteDuration()).ok());
  EXPECT_EQ(Restart()->request.claim().broken().reason(), "rank 0 was lost");
}

TEST_F(RemoteRestartTest, FinishedGroupIsClaimedAndRefusesCalls) {
  Join();
  v1::AttachResponse finished;
  *finished.mutable_group_finished()->mutable_epoch() = TheEpoch();
  finished.mutable_group_finished()->set_reason("op 0: ranks disagree");
  stream_->Send(finished);
  EXPECT_EQ(job_->Barrier("x"), absl::FailedPreconditionError("op 0: ranks disagree"));
  EXPECT_EQ(Restart()->request.claim().groups(0).finished(), "op 0: ranks disagree");
}

TEST_F(RemoteRestartTest, LeasesHeldAndDoneAreClaimed) {
  Join();
  Lease held = Acquire("held", 70);
  Lease done = Acquire("done", 71);
  auto completed = std::async(std::launch::async, [&] { return done.Complete("result"); });
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::CompleteLeaseResponse());
  EXPECT_TRUE(completed.get().ok());
  const v1::Claim claim = Restart()->request.claim();
  ASSERT_EQ(claim.held_leases_size(), 1);
  EXPECT_EQ(claim.held_leases(0).name(), "held");
  EXPECT_EQ(claim.held_leases(0).token(), 70);
  EXPECT_EQ(claim.held_leases(0).scope(), v1::LEASE_SCOPE_JOB);
  ASSERT_EQ(claim.completed_leases_size(), 1);
  EXPECT_EQ(claim.completed_leases(0).name(), "done");
  EXPECT_EQ(claim.completed_leases(0).result().value(), "result");
  EXPECT_EQ(claim.highest_token(), 71);
}

TEST_F(RemoteRestartTest, AnUnlistedLeaseCannotBeCompleted) {
  Join();
  Lease lost = Acquire("lost", 70);
  Lease kept = Acquire("kept", 71);
  Restart()->Accept(2, {71});
  const absl::Status refused = lost.Complete("x");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused),
              HasSubstr("lease 'lost' of the job is no longer held by rank 1 of job 'run' under "
                        "token 70"));
  auto completed = std::async(std::launch::async, [&] { return kept.Complete("x"); });
  v1::CompleteLeaseRequest complete;
  coordinator_.Next(&complete)->Reply(absl::OkStatus(), v1::CompleteLeaseResponse());
  EXPECT_EQ(complete.name(), "kept");
  EXPECT_TRUE(completed.get().ok());
}

TEST_F(RemoteRestartTest, ALateGrantIsNotClaimedAndRequestedAgain) {
  Join();
  auto lease =
      std::async(std::launch::async, [&] { return job_->AcquireLease("work", LeaseScope::kJob); });
  v1::AcquireLeaseRequest first;
  const auto lost = coordinator_.Next(&first);
  Restart();
  v1::AcquireLeaseResponse granted;
  granted.mutable_granted()->set_token(70);
  lost->Reply(absl::OkStatus(), granted);
  EXPECT_EQ(stream_->request.claim().held_leases_size(), 0);
  stream_->Accept(2);
  v1::AcquireLeaseRequest second;
  granted.mutable_granted()->set_token(80);
  coordinator_.Next(&second)->Reply(absl::OkStatus(), granted);
  EXPECT_EQ(second.request_id(), first.request_id());
  EXPECT_EQ(lease.get()->token(), 80);
}

TEST_F(RemoteRestartTest, LeavingIsClaimed) {
  Join();
  auto left = std::async(std::launch::async, [&] { return job_->Leave(); });
  const auto lost = coordinator_.NextCall();
  Restart();
  EXPECT_TRUE(stream_->request.claim().leaving());
  lost->Reply(absl::UnavailableError("connection reset"));
  stream_->Accept(2);
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::LeaveResponse());
  EXPECT_TRUE(left.get().ok());
}

TEST_F(RemoteRestartTest, WaitThatStallsIsLogged) {
  Join();
  std::promise<std::string> logged;
  SetLogSink([&](LogLevel level, absl::string_view line) {
    if (level == LogLevel::kWarning) logged.set_value(std::string(line));
  });
  v1::AttachResponse response;
  response.mutable_still_waiting()->set_text("job 'run': Barrier('x') waits for rank 0 (node a)");
  stream_->Send(response);
  EXPECT_EQ(logged.get_future().get(),
            "rank 1 of job 'run': Barrier('x') waits for rank 0 (node a)");
  SetLogSink(nullptr);
}

// A log line may block on a full pipe, for ever.
TEST_F(RemoteRestartTest, ABlockedLogDelaysNoCallAndNoNewSession) {
  Join();
  std::promise<void> blocked, unblock, last;
  SetLogSink([&, waits = 0](LogLevel, absl::string_view line) mutable {
    if (!absl::StrContains(line, "waits for rank 0")) return;
    ++waits;
    if (waits == 2) last.set_value();
    if (waits > 1) return;
    blocked.set_value();
    unblock.get_future().wait();
  });
  v1::AttachResponse response;
  response.mutable_still_waiting()->set_text("Barrier('x') waits for rank 0");
  stream_->Send(response);
  blocked.get_future().wait();

  auto before = StartBarrier("before");
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(before.get().ok());
  Restart()->Accept(2);
  stream_->Send(response);
  auto after = StartBarrier("after");
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(after.get().ok());
  auto refused = StartBarrier("refused");
  coordinator_.NextCall()->Reply(absl::FailedPreconditionError("no"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.get()));
  job_.reset();
  unblock.set_value();
  last.get_future().wait();  // so that no line of this job reaches another test
  SetLogSink(nullptr);
}

TEST_F(RemoteRestartTest, AnErrorFollowsTheLinesThatExplainIt) {
  Join();
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, absl::string_view line) {
    if (level == LogLevel::kWarning) lines.emplace_back(line);
  });
  auto barrier = StartBarrier("x");
  coordinator_.NextCall();
  v1::AttachResponse response;
  for (const char* text : {"first", "second"}) {
    response.mutable_still_waiting()->set_text(text);
    stream_->Send(response);
  }
  stream_->Break(TheEpoch(), "rank 0 was lost");
  EXPECT_TRUE(absl::IsAborted(barrier.get()));
  SetLogSink(nullptr);
  EXPECT_THAT(lines, ElementsAre("rank 1 of job 'run': first", "rank 1 of job 'run': second"));
}

TEST_F(RemoteRestartTest, AwaitLossWaitsForTheCoordinator) {
  Join();
  stream_->End(absl::UnavailableError("connection reset"));
  auto loss = std::async(std::launch::async, [this] { return job_->world().AwaitLoss(); });
  const auto stream = coordinator_.NextStream();
  stream->Accept(2);
  stream->Break(TheEpoch(), "rank 0 was lost");
  EXPECT_EQ(loss.get(), absl::AbortedError("rank 0 was lost"));
}

TEST_F(RemoteRestartTest, AwaitLossCanBeCancelled) {
  Join();
  stream_->End(absl::UnavailableError("connection reset"));
  Cancellation cancellation;
  auto loss = std::async(std::launch::async, [&] {
    return job_->world().AwaitLoss({absl::Hours(1), &cancellation});
  });
  cancellation.Cancel();
  EXPECT_EQ(loss.get(), absl::OkStatus());
}

}  // namespace
}  // namespace muster::internal
