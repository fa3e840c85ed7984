// Tests of one member's decisions, with a stepped clock.
#include "client/src/protocol/member_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "muster/exit_code.h"

namespace muster::internal {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kCoordinatorTimeout = absl::Minutes(10);

// One member, a clock, and a network that the test plays by hand.
class Machine {
 public:
  explicit Machine(uint64_t seed = 1) : member_(OptionsOf(seed)) { Take(member_.Start(now_)); }

  SteadyTime now() const { return now_; }
  absl::Duration elapsed() const { return Between(SteadyTime(), now_); }

  // Moves the clock to the next deadline.
  void Step() {
    now_ = std::max(now_, member_.NextDeadline());
    Take(member_.Tick(now_));
  }
  void Advance(absl::Duration duration) {
    const SteadyTime end = After(now_, duration);
    while (member_.NextDeadline() <= end) Step();
    now_ = end;
  }

  // Moves the clock without any events, as a process sees it that was stopped.
  void Sleep(absl::Duration duration) { now_ = After(now_, duration); }

  // Accepts the stream as a coordinator with these graces. If `recovery` is not 0, the coordinator
  // has been restarted.
  void Accept(uint64_t session, int member_grace = 2, int recovery = 0) {
    v1::AttachResponse response;
    response.mutable_attached()->mutable_member_grace()->set_seconds(member_grace);
    response.mutable_attached()->mutable_recovery_grace()->set_seconds(recovery);
    response.mutable_attached()->set_recovering(recovery > 0);
    response.mutable_attached()->mutable_session()->set_counter(session);
    response.mutable_attached()->mutable_limits()->set_max_name_bytes(64);
    Take(member_.OnStreamResponse(now_, stream_, response));
  }
  void EndStream(const absl::Status& status = absl::UnavailableError("connection refused")) {
    Take(member_.OnStreamEnd(now_, stream_, status));
  }
  void Reply(const absl::Status& status, Response response = {}) {
    Take(member_.OnReply(now_, call_, status, std::move(response)));
  }
  void Join(CallId id) {
    Take(member_.Join(now_, id, JobOptions(), Deadline(now_, absl::Hours(1))));
  }
  void Barrier(CallId id, absl::Duration timeout) {
    Take(member_.Collective(now_, id, {{7, 8}, "", {}}, CollectiveCall(), Deadline(now_, timeout)));
  }
  void Rejoin(CallId id) { Take(member_.Rejoin(now_, id, {7, 8}, Deadline(now_, absl::Hours(1)))); }
  void Leave(CallId id) { Take(member_.Leave(now_, id, {7, 8}, Deadline(now_, absl::Hours(1)))); }
  void Acquire(CallId id) {
    Take(member_.AcquireLease(now_, id, {7, 8}, {"unpack", LeaseScope::kJob},
                              Deadline(now_, absl::Hours(1))));
  }
  void NeedRoster() {
    v1::AttachResponse response;
    response.mutable_need_roster()->mutable_epoch()->set_number(7);
    response.mutable_need_roster()->mutable_epoch()->set_nonce(8);
    Take(member_.OnStreamResponse(now_, stream_, response));
  }
  void Stop() { Take(member_.Stop(now_)); }
  void BreakEpoch() {
    v1::AttachResponse response;
    response.mutable_epoch_broken()->mutable_epoch()->set_number(7);
    response.mutable_epoch_broken()->mutable_epoch()->set_nonce(8);
    response.mutable_epoch_broken()->set_may_rejoin(true);
    Take(member_.OnStreamResponse(now_, stream_, response));
  }
  void Joined() {
    Accept(1);
    Join(1);
    v1::JoinResponse place;
    place.mutable_epoch()->set_number(7);
    place.mutable_epoch()->set_nonce(8);
    place.add_roster();
    Reply(absl::OkStatus(), place);
  }

  absl::Status health() const { return member_.HealthOf({7, 8}); }
  // Returns for how long a member that is gone by now may still count as alive.
  absl::Duration LossTakes() const {
    const SteadyTime known_by = member_.LossKnownBy(now_);
    return known_by == SteadyTime::max() ? absl::InfiniteDuration() : Between(now_, known_by);
  }
  int streams() const { return streams_; }
  const v1::Claim& last_claim() const { return claim_; }
  int calls() const { return calls_; }
  // Returns whether programs were told, since the last call, to look at health().
  bool TakeStateChange() { return std::exchange(state_changed_, false); }
  const Request& last_request() const { return request_; }
  // Returns how the call ended, or nullptr while it goes on.
  const absl::Status* EndOf(CallId id) const {
    const auto end = ends_.find(id);
    return end == ends_.end() ? nullptr : &end->second;
  }

 private:
  static MemberOptions OptionsOf(uint64_t seed) {
    MemberOptions options;
    options.coordinator = "host:7370";
    options.job_id = "run";
    options.coordinator_timeout = kCoordinatorTimeout;
    options.random = [engine = std::mt19937_64(seed)]() mutable { return engine(); };
    options.connected = [] { return false; };
    return options;
  }

  void Take(const SendCall& send) {
    call_ = send.attempt;
    request_ = send.request;
    ++calls_;
  }

  void Take(const OpenStream& open) {
    stream_ = open.attempt;
    claim_ = open.request.claim();
    ++streams_;
  }

  void Take(Effects effects) {
    state_changed_ |= effects.state_changed;
    for (const Output& output : effects.outputs) {
      if (const auto* open = std::get_if<OpenStream>(&output)) Take(*open);
      if (const auto* send = std::get_if<SendCall>(&output)) Take(*send);
    }
    for (const Completion& completion : effects.completions) {
      EXPECT_EQ(ends_.count(completion.call), 0) << "ended twice";
      ends_[completion.call] = completion.reply.status();
    }
  }

  SteadyTime now_;
  MemberCore member_;
  uint64_t stream_ = 0;
  uint64_t call_ = 0;
  Request request_;
  v1::Claim claim_;
  bool state_changed_ = false;
  int streams_ = 0;
  int calls_ = 0;
  std::map<CallId, absl::Status> ends_;
};

TEST(MemberCoreTest, AttachesAgainWithinASecondForAsLongAsItTakes) {
  Machine machine;
  for (int attempt = 1; attempt < 200; ++attempt) {
    const SteadyTime ended = machine.now();
    machine.EndStream();
    machine.Step();
    EXPECT_EQ(machine.streams(), attempt + 1);
    EXPECT_LE(Between(ended, machine.now()), absl::Seconds(1));
  }
}

TEST(MemberCoreTest, MembersThatAreCutOffTogetherDoNotComeBackTogether) {
  constexpr int kMembers = 1000;
  constexpr absl::Duration kSlot = absl::Milliseconds(20);
  std::map<int64_t, int> attempts;  // by slot
  for (int i = 0; i < kMembers; ++i) {
    Machine machine(i);
    // The coordinator is away for 5 s.
    while (machine.elapsed() < absl::Seconds(5)) {
      machine.EndStream();
      machine.Step();
    }
    ++attempts[machine.elapsed() / kSlot];
  }
  // The last attempts fall into one second: 20 in each slot on average.
  for (const auto& [slot, count] : attempts) EXPECT_LT(count, 100) << "slot " << slot;
}

TEST(MemberCoreTest, AStoppedMemberIgnoresTheCoordinatorsRequests) {
  Machine machine;
  machine.Joined();
  machine.EndStream();
  machine.Step();
  const int streams = machine.streams();
  machine.NeedRoster();
  EXPECT_EQ(machine.streams(), streams + 1);
  EXPECT_EQ(machine.last_claim().roster_size(), 1);
  machine.Stop();
  machine.NeedRoster();
  EXPECT_EQ(machine.streams(), streams + 1);
}

TEST(MemberCoreTest, CallWaitsForTheNextSessionUntilTheCoordinatorTimeout) {
  Machine machine;
  machine.Joined();
  machine.Barrier(2, absl::Hours(1));
  machine.EndStream();
  const int calls = machine.calls();
  machine.Advance(kCoordinatorTimeout - absl::Seconds(1));
  EXPECT_EQ(machine.EndOf(2), nullptr);
  EXPECT_EQ(machine.calls(), calls);
  machine.Advance(absl::Seconds(2));
  ASSERT_NE(machine.EndOf(2), nullptr);
  EXPECT_EQ(machine.EndOf(2)->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ExitCode(*machine.EndOf(2)), kExitCoordinatorLost);
  EXPECT_THAT(std::string(machine.EndOf(2)->message()),
              HasSubstr("rank 0 of job 'run' could not reach the coordinator at host:7370 for 10m "
                        "(last error: connection refused)"));
}

// The epoch ends so that calls that wait only for a peer, such as an all-reduce, end too.
TEST(MemberCoreTest, CoordinatorThatIsAwayForLongerThanItsTimeoutEndsTheEpochHere) {
  Machine machine;
  machine.Joined();
  machine.EndStream();
  machine.TakeStateChange();
  machine.Advance(kCoordinatorTimeout - absl::Milliseconds(1));
  EXPECT_EQ(machine.health(), absl::OkStatus());
  EXPECT_FALSE(machine.TakeStateChange());
  machine.Advance(absl::Milliseconds(1));
  EXPECT_TRUE(machine.TakeStateChange());
  EXPECT_EQ(machine.health().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ExitCode(machine.health()), kExitCoordinatorLost);
  EXPECT_THAT(std::string(machine.health().message()),
              HasSubstr("could not reach the coordinator at host:7370 for 10m"));
  machine.Barrier(2, absl::Hours(1));
  EXPECT_EQ(*machine.EndOf(2), machine.health());
}

TEST(MemberCoreTest, ALossIsKnownWhenTheCoordinatorsGraceAndRecoveryAreOver) {
  Machine machine;
  machine.Joined();
  machine.EndStream();
  EXPECT_EQ(machine.LossTakes(), absl::InfiniteDuration()) << "nobody is there to tell";
  machine.Advance(absl::Seconds(1));
  machine.TakeStateChange();
  machine.Accept(2, /*member_grace=*/8);
  EXPECT_TRUE(machine.TakeStateChange())
      << "whoever waits for a loss must look how long that takes now";
  EXPECT_GT(machine.LossTakes(), absl::Seconds(8));
  EXPECT_LT(machine.LossTakes(), absl::Seconds(20));
  machine.EndStream();
  machine.Advance(absl::Seconds(1));
  machine.Accept(3, /*member_grace=*/2, /*recovery=*/60);
  machine.Advance(absl::Seconds(10));
  EXPECT_GT(machine.LossTakes(), absl::Seconds(50 + 2));
  EXPECT_LT(machine.LossTakes(), absl::Seconds(62));
  machine.Advance(absl::Minutes(1));
  EXPECT_LT(machine.LossTakes(), absl::Seconds(10));
}

TEST(MemberCoreTest, AnEpochThatHasEndedHereIsBrokenForAllOnceTheCoordinatorIsBack) {
  Machine machine;
  machine.Joined();
  machine.EndStream();
  machine.Advance(kCoordinatorTimeout);
  machine.EndStream();
  machine.Advance(absl::Seconds(1));
  const absl::Status why = machine.health();
  EXPECT_EQ(machine.last_claim().broken().reason(), why.message());
  machine.Accept(2);
  EXPECT_EQ(machine.health(), why);
}

TEST(MemberCoreTest, RejoinTriesForAnotherCoordinatorTimeout) {
  Machine machine;
  machine.Joined();
  machine.EndStream();
  machine.Advance(2 * kCoordinatorTimeout);
  machine.Rejoin(2);
  machine.Advance(kCoordinatorTimeout - absl::Seconds(1));
  EXPECT_EQ(machine.EndOf(2), nullptr);
  const int calls = machine.calls();
  machine.Accept(2);
  EXPECT_EQ(machine.calls(), calls + 1);
  EXPECT_NE(std::get_if<v1::RejoinRequest>(&machine.last_request()), nullptr);
}

TEST(MemberCoreTest, AfterLeaveNoCoordinatorIsNeeded) {
  Machine machine;
  machine.Joined();
  machine.Leave(2);
  machine.Reply(absl::OkStatus(), v1::LeaveResponse());
  machine.EndStream();
  machine.Advance(2 * kCoordinatorTimeout);
  EXPECT_EQ(machine.health(), absl::OkStatus());
}

TEST(MemberCoreTest, TimeOutIsLeftToTheCoordinatorAsLongAsItAnswers) {
  Machine machine;
  machine.Joined();
  machine.Barrier(2, absl::Seconds(30));
  machine.Advance(absl::Seconds(31));
  EXPECT_EQ(machine.EndOf(2), nullptr);
  machine.Advance(absl::Seconds(5));
  ASSERT_NE(machine.EndOf(2), nullptr);
  EXPECT_EQ(machine.EndOf(2)->code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(MemberCoreTest, AProcessThatWasStoppedForLongGetsTheCoordinatorsAnswer) {
  Machine machine;
  machine.Joined();
  machine.Barrier(2, absl::Seconds(30));
  machine.Sleep(absl::Minutes(5));
  machine.Reply(absl::DeadlineExceededError("rank 1 has not come"));
  EXPECT_EQ(machine.EndOf(2)->message(), "rank 1 has not come");
}

// INTERNAL and UNKNOWN come from a proxy, or from gRPC for a stream that was reset.
TEST(MemberCoreTest, TransportErrorsAreNoAnswers) {
  for (const absl::Status& status : {absl::UnavailableError("a"), absl::UnknownError("b"),
                                     absl::InternalError("c"), absl::CancelledError("d")}) {
    Machine machine;
    machine.Joined();
    machine.Barrier(2, absl::Hours(1));
    const int calls = machine.calls();
    machine.Reply(status);
    machine.Step();
    EXPECT_EQ(machine.EndOf(2), nullptr) << status;
    EXPECT_EQ(machine.calls(), calls + 1) << status;
    const int streams = machine.streams();
    machine.EndStream(status);
    machine.Step();
    EXPECT_EQ(machine.health(), absl::OkStatus());
    EXPECT_EQ(machine.streams(), streams + 1) << status;
  }
}

TEST(MemberCoreTest, AnErrorThatNeverEndsIsReportedAfterTheCoordinatorTimeout) {
  Machine machine;
  machine.Joined();
  machine.Barrier(2, absl::Hours(1));
  for (const SteadyTime start = machine.now(); machine.EndOf(2) == nullptr;) {
    ASSERT_LT(Between(start, machine.now()), 2 * kCoordinatorTimeout);
    machine.Reply(absl::InternalError("proxy error"));
    if (machine.EndOf(2) == nullptr) machine.Step();
  }
  EXPECT_EQ(machine.EndOf(2)->code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(machine.EndOf(2)->message()), HasSubstr("proxy error"));
}

TEST(MemberCoreTest, ADeferredCallIsRetriedUnderTheSameNumber) {
  Machine machine;
  machine.Joined();
  machine.Barrier(2, absl::Hours(1));
  for (int i = 0; i < 5; ++i) {
    const int calls = machine.calls();
    machine.Reply(absl::UnavailableError("recovering"));
    machine.Step();
    EXPECT_EQ(machine.calls(), calls + 1);
  }
  machine.Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_EQ(*machine.EndOf(2), absl::OkStatus());
}

TEST(MemberCoreTest, GrantThatTheEndOfTheEpochMayHaveOvertakenIsGivenUp) {
  Machine machine;
  machine.Joined();
  machine.Acquire(2);
  const auto acquire = std::get<v1::AcquireLeaseRequest>(machine.last_request());
  machine.BreakEpoch();
  EXPECT_TRUE(absl::IsAborted(*machine.EndOf(2)));
  const auto* abandon = std::get_if<v1::AbandonLeaseRequest>(&machine.last_request());
  ASSERT_NE(abandon, nullptr) << "the lease would be held for as long as this process lives";
  EXPECT_EQ(abandon->request_id(), acquire.request_id());
}

TEST(MemberCoreTest, ReplyThatComesTwiceCountsOnce) {
  Machine machine;
  machine.Joined();
  machine.Barrier(2, absl::Hours(1));
  machine.Reply(absl::OkStatus(), v1::BarrierResponse());
  machine.Reply(absl::AbortedError("late"));
  machine.Barrier(3, absl::Hours(1));
  machine.Reply(absl::OkStatus(), v1::BarrierResponse());
  EXPECT_EQ(*machine.EndOf(3), absl::OkStatus());
}

}  // namespace
}  // namespace muster::internal
