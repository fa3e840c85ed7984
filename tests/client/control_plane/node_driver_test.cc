// Tests of two members of one node that share memory, each with its own driver: what their threads
// do, and what they send. The test plays the coordinator by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "client/src/control_plane/member_driver.h"
#include "client/src/protocol/messages/messages.h"
#include "muster/log.h"
#include "tests/client/control_plane/fake_transport.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kLong = 600'000'000'000;  // no member gives up on its own

class NodeDriverTest : public ::testing::Test {
 protected:
  using Reply = absl::StatusOr<Response>;

  // Lets both members join, and meet once. The daemon supports node collectives.
  void Start() {
    for (const int rank : {0, 1}) Join(rank, {kLong, kLong});
    while (!SendTogether()) {
    }
  }

  void TearDown() override {
    coordinator_.AnswerAll(absl::AbortedError("the test is over"));
    members_.clear();
  }

  void Join(int rank, const FanInTimes& times) {
    Joining joining = BeginToJoin(rank, times);
    ASSERT_TRUE(joining.place.get().ok());
    members_.push_back(std::move(joining.member));
  }

  struct Member {
    std::shared_ptr<MemberDriver> driver;
    std::shared_ptr<FakeCoordinator::Stream> stream;
  };
  struct Joining {
    Member member;
    std::future<Reply> place;
  };
  // Gives the member its place. Returns without waiting until the member has taken it.
  Joining BeginToJoin(int rank, const FanInTimes& times) {
    Member member;
    member.driver = *MemberDriver::Start(OptionsOf(rank), coordinator_.NewTransport(), times);
    member.stream = coordinator_.NextStream();
    member.stream->Accept(rank + 1, {}, /*node_collectives=*/true);
    auto joining = std::async(std::launch::async, [driver = member.driver.get()] {
      return driver->CallAndWait(nullptr, [](MemberCore& core, SteadyTime now, CallId id) {
        return core.Join(now, id, JobOptions(), Deadline(now, absl::Hours(1)));
      });
    });
    coordinator_.NextCall()->Reply(absl::OkStatus(), PlaceOf(rank));
    return {std::move(member), std::move(joining)};
  }
  std::future<Reply> Begin(int rank, CollectiveCall call, absl::Duration timeout = absl::Hours(1),
                           Cancellation* cancellation = nullptr) {
    return std::async(std::launch::async, [=, call = std::move(call)] {
      return members_[rank].driver->CallAndWait(
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

  // A collective of both members, whose arrivals were sent in one call.
  struct Together {
    std::future<Reply> replies[2];  // by rank
    std::shared_ptr<FakeCoordinator::Call> call;
    v1::NodeCollectiveRequest request;
  };
  // Begins the collective on both members until they meet. Two members that arrive at the same
  // moment may each send their own call; then both begin again.
  Together CallTogether(const std::function<std::future<Reply>(int rank)>& begin) {
    while (true) {
      Together together{{begin(0), begin(1)}, coordinator_.NextCall(), {}};
      if (const auto* r = std::get_if<v1::NodeCollectiveRequest>(&together.call->request)) {
        together.request = *r;
        return together;
      }
      AnswerOwn(together.call);
      AnswerOwn(coordinator_.NextCall());
      for (auto& reply : together.replies) EXPECT_TRUE(reply.get().ok());
    }
  }
  Together BarrierTogether() {
    return CallTogether([this](int rank) { return Barrier(rank); });
  }

  static void AnswerOwn(const std::shared_ptr<FakeCoordinator::Call>& call) {
    const bool barrier = std::holds_alternative<v1::BarrierRequest>(call->request);
    barrier ? call->Reply(absl::OkStatus(), v1::BarrierResponse())
            : call->Reply(absl::OkStatus(), v1::AllGatherResponse());
  }
  static void ExpectSuccess(Together* together) {
    for (auto& reply : together->replies) EXPECT_TRUE(reply.get().ok());
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

  // Runs one barrier of both members. Returns false if one of them has not mapped the memory yet:
  // another thread than the joining one may do that. Then the next one may complete on the node.
  bool SendTogether() {
    std::future<Reply> replies[] = {Barrier(0, absl::Seconds(5)), Barrier(1, absl::Seconds(5))};
    bool together = false;
    for (int arrivals = 0; arrivals < 2 && !together; ++arrivals) {
      const auto call = NextCallOrReplies(replies);
      if (call == nullptr) {
        together = true;
        ++commits_at_start_;
        break;
      }
      if (std::holds_alternative<v1::ReportCommitsRequest>(call->request)) {  // of this barrier
        call->Reply(absl::OkStatus(), v1::ReportCommitsResponse());
        together = true;
        break;
      }
      const auto* const request = std::get_if<v1::NodeCollectiveRequest>(&call->request);
      together = request != nullptr;
      together ? call->Reply(absl::OkStatus(), Completed(*request)) : AnswerOwn(call);
    }
    for (auto& reply : replies) EXPECT_TRUE(reply.get().ok());
    return together;
  }

  // Returns null if all replies have come without another call.
  std::shared_ptr<FakeCoordinator::Call> NextCallOrReplies(absl::Span<std::future<Reply>> replies) {
    while (true) {
      const bool all = absl::c_all_of(replies, [](const std::future<Reply>& reply) {
        return reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      });
      auto call = coordinator_.TryNextCall();
      if (all || call != nullptr) return call;
      std::this_thread::yield();
    }
  }

  // Returns the attempt number of that session's part.
  static uint64_t AttemptOf(const v1::NodeCollectiveRequest& request, uint64_t session) {
    for (const v1::NodeArrival& part : request.parts()) {
      if (part.session().counter() == session) return part.attempt();
    }
    ADD_FAILURE() << "no part of session " << session;
    return 0;
  }

  // Returns the next two calls, which must be barriers of single members, by session.
  std::map<uint64_t, std::shared_ptr<FakeCoordinator::Call>> NextBarriers() {
    std::map<uint64_t, std::shared_ptr<FakeCoordinator::Call>> calls;
    for (int i = 0; i < 2; ++i) {
      v1::BarrierRequest request;
      auto call = coordinator_.Next(&request);
      calls[request.context().call().session().counter()] = call;
    }
    return calls;
  }

  FakeCoordinator coordinator_;
  bool node_commits_ = false;
  uint64_t commits_at_start_ = 0;  // barriers of Start() that completed on the node
  std::vector<Member> members_;
  const EpochId epoch_{100, std::random_device()()};  // differs between processes

 private:
  MemberOptions OptionsOf(int rank) const {
    MemberOptions options;
    options.node_commits = node_commits_;
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
};

TEST_F(NodeDriverTest, OneCallIsSentForAllMembers) {
  Start();
  for (int i = 0; i < 100; ++i) {
    Together together = BarrierTogether();
    EXPECT_EQ(together.request.kind(), v1::COLLECTIVE_KIND_BARRIER);
    ASSERT_EQ(together.request.parts_size(), 2);
    EXPECT_NE(AttemptOf(together.request, 1), 0u);
    EXPECT_NE(AttemptOf(together.request, 2), 0u);
    together.call->Reply(absl::OkStatus(), Completed(together.request));
    ExpectSuccess(&together);
  }
}

// Two members that arrive at the same moment may each send their own call. All other collectives
// complete without one, and are reported before the members leave.
TEST_F(NodeDriverTest, CollectivesCompleteOnTheNodeWithoutACall) {
  constexpr uint64_t kCollectives = 500;
  node_commits_ = true;
  Start();
  uint64_t commits = 0;
  uint64_t calls = 0;
  auto coordinator = std::async(std::launch::async, [&] {
    for (int left = 0; left < 2;) {
      const auto call = coordinator_.NextCall();
      if (const auto* report = std::get_if<v1::ReportCommitsRequest>(&call->request)) {
        for (const v1::GroupCommits& group : report->groups()) commits += group.commits_size();
        call->Reply(absl::OkStatus(), v1::ReportCommitsResponse());
      } else if (std::holds_alternative<v1::LeaveRequest>(call->request)) {
        ++left;
        call->Reply(absl::OkStatus(), v1::LeaveResponse());
      } else {
        ++calls;
        AnswerOwn(call);
      }
    }
  });
  for (uint64_t i = 0; i < kCollectives; ++i) {
    std::future<Reply> replies[] = {AllGather(0, absl::StrCat("a", i)),
                                    AllGather(1, absl::StrCat("b", i))};
    for (auto& reply : replies) {
      const Reply answer = reply.get();
      ASSERT_TRUE(answer.ok());
      const std::vector<std::string> payloads = PayloadsOf(*answer);
      if (payloads.empty()) continue;  // of an own call
      EXPECT_THAT(payloads, ElementsAre(absl::StrCat("a", i), absl::StrCat("b", i)));
    }
  }
  for (const Member& member : members_) {
    const Reply left =
        member.driver->CallAndWait(nullptr, [&](MemberCore& core, SteadyTime now, CallId id) {
          return core.Leave(now, id, epoch_, Deadline(now, absl::Hours(1)));
        });
    EXPECT_TRUE(left.ok());
  }
  coordinator.wait();
  EXPECT_EQ(commits + calls / 2, kCollectives + commits_at_start_);
  EXPECT_GT(commits, 0u);
}

TEST_F(NodeDriverTest, AllMembersGetTheSendersAnswer) {
  Start();
  Together together =
      CallTogether([this](int rank) { return AllGather(rank, absl::StrCat("of ", rank)); });
  EXPECT_EQ(together.request.kind(), v1::COLLECTIVE_KIND_ALL_GATHER);
  for (const v1::NodeArrival& part : together.request.parts()) {
    EXPECT_EQ(part.payload(), absl::StrCat("of ", part.session().counter() - 1));
  }
  v1::NodeCollectiveResponse answer = Completed(together.request);
  answer.add_payloads("of 0");
  answer.add_payloads("of 1");
  answer.set_stop_requested(true);
  together.call->Reply(absl::OkStatus(), answer);
  for (auto& reply : together.replies) {
    EXPECT_THAT(PayloadsOf(*reply.get()), ElementsAre("of 0", "of 1"));
  }
  for (const Member& member : members_) EXPECT_TRUE(member.driver->StopRequested(epoch_));
}

TEST_F(NodeDriverTest, IfTheCoordinatorCompletesNothingEachMemberCallsAtOnce) {
  Start();
  Together together = BarrierTogether();
  together.call->Reply(absl::OkStatus(), Resend());
  for (const auto& [session, call] : NextBarriers()) {
    EXPECT_GT(call->attempt, AttemptOf(together.request, session));
    AnswerOwn(call);
  }
  ExpectSuccess(&together);
}

TEST_F(NodeDriverTest, AnErrorOfTheBatchEndsNoCall) {
  Start();
  Together together = BarrierTogether();
  together.call->Reply(absl::AbortedError("the sender was lost"));
  for (const auto& [session, call] : NextBarriers()) AnswerOwn(call);
  ExpectSuccess(&together);
}

TEST_F(NodeDriverTest, AMemberWhosePartIsNotCompletedCalls) {
  Start();
  Together together = BarrierTogether();
  v1::NodeCollectiveResponse answer;
  answer.add_completed(0);
  together.call->Reply(absl::OkStatus(), answer);
  v1::BarrierRequest own;
  const auto left_out = coordinator_.Next(&own);
  EXPECT_EQ(own.context().call().session().counter(),
            together.request.parts(1).session().counter());
  AnswerOwn(left_out);
  ExpectSuccess(&together);
}

TEST_F(NodeDriverTest, ALoneArrivalIsSentOnItsOwn) {
  for (const int rank : {0, 1}) Join(rank, {/*gather=*/1, kLong});
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

TEST_F(NodeDriverTest, WithoutCommonMemoryEachMemberCalls) {
  Join(0, {kLong, kLong});
  auto zero = Barrier(0);
  coordinator_.NextCall()->Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_TRUE(zero.get().ok());
}

TEST_F(NodeDriverTest, ATooLargeArrivalIsSentOnItsOwn) {
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

// The other member's part has been sent, and may count.
TEST_F(NodeDriverTest, ACancelledMemberRevokesItsArrival) {
  Start();
  Cancellation cancellations[2];
  Together together =
      CallTogether([&](int rank) { return Barrier(rank, absl::Hours(1), &cancellations[rank]); });
  const uint64_t follower = together.request.parts(1).session().counter();
  cancellations[follower - 1].Cancel();
  EXPECT_TRUE(absl::IsCancelled(together.replies[follower - 1].get().status()));
  v1::WithdrawArrivalRequest withdraw;
  const auto withdrawal = coordinator_.Next(&withdraw);
  EXPECT_EQ(withdraw.call().session().counter(), follower);
  EXPECT_GT(withdraw.call().attempt(), AttemptOf(together.request, follower));
  withdrawal->Reply(absl::OkStatus(), v1::WithdrawArrivalResponse());
  together.call->Reply(absl::OkStatus(), Completed(together.request));
  EXPECT_TRUE(together.replies[2 - follower].get().ok());
}

TEST_F(NodeDriverTest, TheSenderCanBeCancelled) {
  Start();
  Cancellation cancellations[2];
  Together together =
      CallTogether([&](int rank) { return Barrier(rank, absl::Hours(1), &cancellations[rank]); });
  const uint64_t sender = together.request.context().call().session().counter();
  cancellations[sender - 1].Cancel();
  EXPECT_TRUE(absl::IsCancelled(together.replies[sender - 1].get().status()));
  // The other member sends its own call, and the sender withdraws its own arrival.
  bool own = false, withdrawn = false;
  for (int i = 0; i < 2; ++i) {
    const auto next = coordinator_.NextCall();
    if (std::holds_alternative<v1::BarrierRequest>(next->request)) {
      own = true;
      AnswerOwn(next);
    } else {
      withdrawn = std::holds_alternative<v1::WithdrawArrivalRequest>(next->request);
      next->Reply(absl::OkStatus(), v1::WithdrawArrivalResponse());
    }
  }
  EXPECT_TRUE(own && withdrawn);
  EXPECT_TRUE(together.replies[2 - sender].get().ok());
}

TEST_F(NodeDriverTest, AtItsDeadlineAMemberAsksWhichRanksAreMissing) {
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
  Together together = BarrierTogether();
  const uint64_t follower = together.request.parts(1).session().counter();
  members_[follower - 1].stream->End(absl::UnavailableError("connection reset"));
  coordinator_.NextStream()->Accept(11, {}, /*node_collectives=*/true);
  v1::BarrierRequest own;
  const auto own_call = coordinator_.Next(&own);
  EXPECT_EQ(own.context().call().session().counter(), 11u);
  AnswerOwn(own_call);
  v1::NodeCollectiveResponse of_the_sender;
  of_the_sender.add_completed(0);
  together.call->Reply(absl::OkStatus(), of_the_sender);
  ExpectSuccess(&together);
  // In the new session the members meet again.
  together = BarrierTogether();
  EXPECT_NE(AttemptOf(together.request, 11), 0u);
  together.call->Reply(absl::OkStatus(), Completed(together.request));
  ExpectSuccess(&together);
}

// A log line may block on a full pipe.
TEST_F(NodeDriverTest, ABlockedLogDelaysNoMember) {
  Join(0, {kLong, kLong});
  std::promise<void> told, taken;
  SetLogSink([&, told_once = false](LogLevel, absl::string_view line) mutable {
    if (!absl::StrContains(line, "each call the coordinator on their own") ||
        std::exchange(told_once, true))
      return;
    told.set_value();
    taken.get_future().wait();
  });
  Joining twin = BeginToJoin(0, {kLong, kLong});  // its slot is taken
  told.get_future().wait();
  auto health =
      std::async(std::launch::async, [&] { return twin.member.driver->HealthOf(epoch_); });
  EXPECT_EQ(health.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  taken.set_value();
  EXPECT_TRUE(health.get().ok());
  EXPECT_TRUE(twin.place.get().ok());
  SetLogSink(nullptr);
}

TEST_F(NodeDriverTest, ARejoiningMemberUsesNoFanIn) {
  Start();
  auto zero = Barrier(0);
  auto rejoin = std::async(std::launch::async, [this] {
    return members_[0].driver->CallAndWait(
        nullptr, [&](MemberCore& core, SteadyTime now, CallId id) {
          return core.Rejoin(now, id, epoch_, Deadline(now, absl::Hours(1)));
        });
  });
  const std::shared_ptr<FakeCoordinator::Call> calls[] = {coordinator_.NextCall(),
                                                          coordinator_.NextCall()};
  for (const auto& call : calls) {
    EXPECT_FALSE(std::holds_alternative<v1::NodeCollectiveRequest>(call->request));
    call->Reply(absl::AbortedError("over"));
  }
  EXPECT_FALSE(rejoin.get().ok());
  EXPECT_FALSE(zero.get().ok());
}

TEST_F(NodeDriverTest, DestroyingAJobEndsAllWaits) {
  Start();
  auto zero = Barrier(0);
  members_[0].driver->Close();
  EXPECT_TRUE(absl::IsCancelled(zero.get().status()));
}

}  // namespace
}  // namespace muster::internal
