// Two members of one node that share memory, each with a driver: what their threads do, and what
// goes out to the coordinator, which the test plays by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "client/src/control_plane/member_driver.h"
#include "client/src/protocol/messages.h"
#include "tests/client/fake_transport.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kLong = 600'000'000'000;  // nobody gives up by itself

class NodeDriverTest : public ::testing::Test {
 protected:
  using Reply = absl::StatusOr<Response>;

  // Both join, unless told otherwise; the daemon has node collectives.
  void Start(const MeetingTimes& times = {kLong, kLong}, int members = 2) {
    for (int rank = 0; rank < members; ++rank) Join(rank, times);
  }

  void TearDown() override {
    coordinator_.AnswerAll(absl::AbortedError("the test is over"));
    members_.clear();
  }

  std::future<Reply> Begin(int rank, CollectiveCall call, absl::Duration timeout = absl::Hours(1),
                           Cancellation* cancellation = nullptr) {
    return std::async(std::launch::async, [=, call = std::move(call)] {
      return members_[rank].driver->Call(
          cancellation, [&](MemberCore& member, SteadyTime now, CallId id) {
            return member.Collective(now, id, {epoch_, "", {}}, call, Deadline(now, timeout));
          });
    });
  }
  std::future<Reply> Barrier(int rank, absl::Duration timeout = absl::Hours(1),
                             Cancellation* cancellation = nullptr) {
    return Begin(rank, CollectiveCall(), timeout, cancellation);
  }
  std::future<Reply> AllGather(int rank, std::string payload) {
    CollectiveCall call;
    call.kind = CollectiveKind::kAllGather;
    call.payload = std::move(payload);
    return Begin(rank, std::move(call));
  }

  static v1::NodeCollectiveResponse Completed(const v1::NodeCollectiveRequest& request) {
    v1::NodeCollectiveResponse response;
    for (int i = 0; i < request.parts_size(); ++i) response.add_completed(i);
    return response;
  }
  static v1::NodeCollectiveResponse Resend() {
    v1::NodeCollectiveResponse response;
    response.set_resend(true);
    return response;
  }

  // The attempt of that member's part.
  static uint64_t AttemptOf(const v1::NodeCollectiveRequest& request, uint64_t session) {
    for (const v1::NodeArrival& part : request.parts()) {
      if (part.session().counter() == session) return part.attempt();
    }
    ADD_FAILURE() << "no part of session " << session;
    return 0;
  }

  // The next two calls, which are barriers of their own; by session.
  std::map<uint64_t, std::shared_ptr<FakeCoordinator::Call>> NextBarriers() {
    std::map<uint64_t, std::shared_ptr<FakeCoordinator::Call>> calls;
    for (int i = 0; i < 2; ++i) {
      v1::BarrierRequest request;
      auto call = coordinator_.Next(&request);
      calls[request.context().call().session().counter()] = call;
    }
    return calls;
  }

  struct Member {
    std::unique_ptr<MemberDriver> driver;
    std::shared_ptr<FakeCoordinator::Stream> stream;
  };
  FakeCoordinator coordinator_;
  std::vector<Member> members_;
  const EpochId epoch_{100, std::random_device()()};  // another one in each process

 private:
  static MemberOptions OptionsOf(int rank) {
    MemberOptions options;
    options.coordinator = "fake:1";
    options.job_id = "node driver test";
    options.coordinator_timeout = absl::Hours(1);
    options.random = [engine = std::mt19937_64(rank)]() mutable { return engine(); };
    return options;
  }

  v1::JoinResponse PlaceOf(int rank) const {
    v1::JoinResponse place;
    place.mutable_epoch()->set_number(epoch_.number);
    place.mutable_epoch()->set_nonce(epoch_.nonce);
    place.set_rank(rank);
    for (int i = 0; i < 2; ++i) place.add_roster()->mutable_member()->set_node_id("node");
    return place;
  }

  void Join(int rank, const MeetingTimes& times) {
    Member member;
    member.driver =
        std::make_unique<MemberDriver>(OptionsOf(rank), coordinator_.NewTransport(), times);
    member.stream = coordinator_.NextStream();
    member.stream->Accept(rank + 1, {}, /*node_collectives=*/true);
    auto joining = std::async(std::launch::async, [driver = member.driver.get()] {
      return driver->Call(nullptr, [](MemberCore& core, SteadyTime now, CallId id) {
        return core.Join(now, id, JobOptions(), Deadline(now, absl::Hours(1)));
      });
    });
    coordinator_.NextCall()->Reply(absl::OkStatus(), PlaceOf(rank));
    ASSERT_TRUE(joining.get().ok());
    member.driver->Run([](MemberCore& core, SteadyTime now) { return core.Tick(now); });
    members_.push_back(std::move(member));
  }
};

TEST_F(NodeDriverTest, OneCallGoesOutForAll) {
  Start();
  for (int i = 0; i < 100; ++i) {
    auto zero = Barrier(0);
    auto one = Barrier(1);
    v1::NodeCollectiveRequest request;
    const auto call = coordinator_.Next(&request);
    EXPECT_EQ(request.kind(), v1::COLLECTIVE_KIND_BARRIER);
    EXPECT_EQ(request.context().sequence(), i);
    ASSERT_EQ(request.parts_size(), 2);
    EXPECT_NE(AttemptOf(request, 1), 0u);
    EXPECT_NE(AttemptOf(request, 2), 0u);
    call->Reply(absl::OkStatus(), Completed(request));
    EXPECT_TRUE(zero.get().ok());
    EXPECT_TRUE(one.get().ok());
  }
}

TEST_F(NodeDriverTest, AllGetTheAnswerThatOneHasGot) {
  Start();
  auto zero = AllGather(0, "of zero");
  auto one = AllGather(1, "of one");
  v1::NodeCollectiveRequest request;
  const auto call = coordinator_.Next(&request);
  EXPECT_EQ(request.kind(), v1::COLLECTIVE_KIND_ALL_GATHER);
  for (const v1::NodeArrival& part : request.parts()) {
    EXPECT_EQ(part.payload(), part.session().counter() == 1 ? "of zero" : "of one");
  }
  v1::NodeCollectiveResponse answer = Completed(request);
  answer.add_payloads("of zero");
  answer.add_payloads("of one");
  answer.set_stop_requested(true);
  call->Reply(absl::OkStatus(), answer);
  for (auto* reply : {&zero, &one}) {
    EXPECT_THAT(PayloadsOf(*reply->get()), ElementsAre("of zero", "of one"));
  }
  for (const Member& member : members_) EXPECT_TRUE(member.driver->StopRequested(epoch_));
}

TEST_F(NodeDriverTest, WhereTheCoordinatorTakesNothingEachCallsByItselfAtOnce) {
  Start();
  auto zero = Barrier(0);
  auto one = Barrier(1);
  v1::NodeCollectiveRequest together;
  coordinator_.Next(&together)->Reply(absl::OkStatus(), Resend());
  for (const auto& [session, call] : NextBarriers()) {
    EXPECT_GT(call->attempt, AttemptOf(together, session));
    call->Reply(absl::OkStatus(), v1::BarrierResponse());
  }
  EXPECT_TRUE(zero.get().ok());
  EXPECT_TRUE(one.get().ok());
}

TEST_F(NodeDriverTest, AnErrorOfTheCallForAllIsNobodysError) {
  Start();
  auto zero = Barrier(0);
  auto one = Barrier(1);
  coordinator_.NextCall()->Reply(absl::AbortedError("the sender was lost"));
  for (const auto& [session, call] : NextBarriers()) {
    call->Reply(absl::OkStatus(), v1::BarrierResponse());
  }
  EXPECT_TRUE(zero.get().ok());
  EXPECT_TRUE(one.get().ok());
}

TEST_F(NodeDriverTest, WhoIsNotNamedCallsByItself) {
  Start();
  auto zero = Barrier(0);
  auto one = Barrier(1);
  v1::NodeCollectiveRequest request;
  const auto call = coordinator_.Next(&request);
  v1::NodeCollectiveResponse answer;
  answer.add_completed(0);
  call->Reply(absl::OkStatus(), answer);
  v1::BarrierRequest own;
  const auto left_out = coordinator_.Next(&own);
  EXPECT_EQ(own.context().call().session().counter(), request.parts(1).session().counter());
  left_out->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(zero.get().ok());
  EXPECT_TRUE(one.get().ok());
}

TEST_F(NodeDriverTest, WhoComesAloneSendsByItself) {
  Start({/*gather=*/1, kLong});
  auto zero = Barrier(0);
  v1::BarrierRequest request;
  const auto call = coordinator_.Next(&request);
  auto one = Barrier(1);
  const auto other = coordinator_.Next(&request);
  call->Reply(absl::OkStatus(), v1::BarrierResponse());
  other->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(zero.get().ok());
  EXPECT_TRUE(one.get().ok());
}

TEST_F(NodeDriverTest, WhereNotAllHaveTheMemoryEachCallsByItself) {
  Start({kLong, kLong}, /*members=*/1);
  auto zero = Barrier(0);
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(zero.get().ok());
}

TEST_F(NodeDriverTest, WhatIsTooLargeForTheMemoryGoesByItself) {
  Start();
  const std::string large(10'000, 'x');
  std::future<Reply> replies[] = {AllGather(0, large), AllGather(1, large)};
  for (int i = 0; i < 2; ++i) {
    v1::AllGatherRequest request;
    const auto call = coordinator_.Next(&request);
    EXPECT_EQ(request.payload(), large);
    call->Reply(absl::OkStatus(), v1::AllGatherResponse());
  }
  for (auto& reply : replies) EXPECT_TRUE(reply.get().ok());
}

// The other one's part is out, and may count.
TEST_F(NodeDriverTest, WhoStopsWaitingTakesItsArrivalBack) {
  Start();
  Cancellation cancellations[2];
  std::future<Reply> replies[] = {Barrier(0, absl::Hours(1), &cancellations[0]),
                                  Barrier(1, absl::Hours(1), &cancellations[1])};
  v1::NodeCollectiveRequest together;
  const auto call = coordinator_.Next(&together);
  const uint64_t follower = together.parts(1).session().counter();
  cancellations[follower - 1].Cancel();
  EXPECT_TRUE(absl::IsCancelled(replies[follower - 1].get().status()));
  v1::WithdrawArrivalRequest withdraw;
  const auto withdrawal = coordinator_.Next(&withdraw);
  EXPECT_EQ(withdraw.call().session().counter(), follower);
  EXPECT_GT(withdraw.call().attempt(), AttemptOf(together, follower));
  withdrawal->Reply(absl::OkStatus(), v1::WithdrawArrivalResponse());
  call->Reply(absl::OkStatus(), Completed(together));
  EXPECT_TRUE(replies[2 - follower].get().ok());
}

TEST_F(NodeDriverTest, TheOneWhoSendsForAllCanBeCancelled) {
  Start();
  Cancellation cancellations[2];
  std::future<Reply> replies[] = {Barrier(0, absl::Hours(1), &cancellations[0]),
                                  Barrier(1, absl::Hours(1), &cancellations[1])};
  v1::NodeCollectiveRequest together;
  const auto call = coordinator_.Next(&together);
  const uint64_t sender = together.context().call().session().counter();
  cancellations[sender - 1].Cancel();
  EXPECT_TRUE(absl::IsCancelled(replies[sender - 1].get().status()));
  // The other one goes on by itself, and the sender takes its own arrival back.
  bool own = false, withdrawn = false;
  for (int i = 0; i < 2; ++i) {
    const auto next = coordinator_.NextCall();
    if (std::holds_alternative<v1::BarrierRequest>(next->request)) {
      own = true;
      next->Reply(absl::OkStatus(), v1::BarrierResponse());
    } else {
      withdrawn = std::holds_alternative<v1::WithdrawArrivalRequest>(next->request);
      next->Reply(absl::OkStatus(), v1::WithdrawArrivalResponse());
    }
  }
  EXPECT_TRUE(own && withdrawn);
  EXPECT_TRUE(replies[2 - sender].get().ok());
}

TEST_F(NodeDriverTest, WhoWaitsInVainAsksTheCoordinatorWhoIsMissing) {
  Start();
  auto zero = Barrier(0, absl::Milliseconds(20));
  v1::BarrierRequest request;
  const auto call = coordinator_.Next(&request);
  EXPECT_EQ(request.context().call().wait_timeout().seconds(), 0);
  EXPECT_EQ(request.context().call().wait_timeout().nanos(), 0);
  call->Reply(absl::DeadlineExceededError("rank 1 is missing"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(zero.get().status()));
}

TEST_F(NodeDriverTest, ASessionsArrivalsEndWithIt) {
  Start();
  std::future<Reply> replies[] = {Barrier(0), Barrier(1)};
  v1::NodeCollectiveRequest together;
  const auto call = coordinator_.Next(&together);
  const uint64_t follower = together.parts(1).session().counter();
  members_[follower - 1].stream->End(absl::UnavailableError("connection reset"));
  coordinator_.NextStream()->Accept(11, {}, /*node_collectives=*/true);
  v1::BarrierRequest own;
  const auto own_call = coordinator_.Next(&own);
  EXPECT_EQ(own.context().call().session().counter(), 11u);
  own_call->Reply(absl::OkStatus(), v1::BarrierResponse());
  v1::NodeCollectiveResponse of_the_sender;
  of_the_sender.add_completed(0);
  call->Reply(absl::OkStatus(), of_the_sender);
  for (auto& reply : replies) EXPECT_TRUE(reply.get().ok());
  // In the new session it meets the other one again.
  std::future<Reply> next[] = {Barrier(0), Barrier(1)};
  const auto call_for_all = coordinator_.Next(&together);
  EXPECT_NE(AttemptOf(together, 11), 0u);
  call_for_all->Reply(absl::OkStatus(), Completed(together));
  for (auto& reply : next) EXPECT_TRUE(reply.get().ok());
}

TEST_F(NodeDriverTest, AMemberThatRejoinsMeetsNobody) {
  Start();
  auto zero = Barrier(0);
  auto rejoin = std::async(std::launch::async, [this] {
    return members_[0].driver->Call(nullptr, [&](MemberCore& core, SteadyTime now, CallId id) {
      return core.Rejoin(now, id, epoch_, Deadline(now, absl::Hours(1)));
    });
  });
  for (int i = 0; i < 2; ++i) {
    const auto call = coordinator_.NextCall();
    EXPECT_FALSE(std::holds_alternative<v1::NodeCollectiveRequest>(call->request));
    call->Reply(absl::AbortedError("over"));
  }
  EXPECT_FALSE(rejoin.get().ok());
  EXPECT_FALSE(zero.get().ok());
}

TEST_F(NodeDriverTest, AJobThatIsDestroyedLeavesNobodyWaiting) {
  Start();
  auto zero = Barrier(0);
  members_[0].driver->Close();
  EXPECT_TRUE(absl::IsCancelled(zero.get().status()));
}

}  // namespace
}  // namespace muster::internal
