// The decisions of one member, with a stepped clock.
#include "client/src/protocol/member_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

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

  // Moves the clock as a process sees it that was stopped: nothing happens meanwhile.
  void Sleep(absl::Duration duration) { now_ = After(now_, duration); }

  void Accept(uint64_t session) {
    v1::AttachResponse response;
    response.mutable_attached()->mutable_session()->set_counter(session);
    response.mutable_attached()->mutable_limits()->set_max_name_bytes(64);
    Take(member_.OnStreamResponse(now_, stream_, response));
  }
  void EndStream() {
    Take(member_.OnStreamEnd(now_, stream_, absl::UnavailableError("connection refused")));
  }
  void Reply(const absl::Status& status, Response response = {}) {
    Take(member_.OnReply(now_, call_, status, std::move(response)));
  }
  void Join(CallId id) {
    Take(member_.Join(now_, id, JobOptions(), Patience(now_, absl::Hours(1))));
  }
  void Barrier(CallId id, absl::Duration timeout) {
    Take(member_.Collective(now_, id, {{7, 8}, "", {}}, CollectiveCall(), Patience(now_, timeout)));
  }
  void Acquire(CallId id) {
    Take(member_.AcquireLease(now_, id, {7, 8}, {"unpack", LeaseScope::kJob},
                              Patience(now_, absl::Hours(1))));
  }
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

  int streams() const { return streams_; }
  int calls() const { return calls_; }
  const Request& last_request() const { return request_; }
  // How the call ended; nullptr while it goes on.
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

  void Take(Effects effects) {
    for (const Output& output : effects.outputs) {
      if (const auto* open = std::get_if<OpenStream>(&output)) stream_ = open->attempt, ++streams_;
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
    // The coordinator is away for some seconds.
    while (machine.elapsed() < absl::Seconds(5)) {
      machine.EndStream();
      machine.Step();
    }
    ++attempts[machine.elapsed() / kSlot];
  }
  // The last attempts lie within a second: 20 in each slot on average.
  for (const auto& [slot, count] : attempts) EXPECT_LT(count, 100) << "slot " << slot;
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
  EXPECT_THAT(std::string(machine.EndOf(2)->message()),
              HasSubstr("Barrier() op 0 of the world: rank 0 of job 'run' could not reach the "
                        "coordinator at host:7370 for 10m (last error: connection refused)"));
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

TEST(MemberCoreTest, AProcessThatWasStoppedForLongSaysWhomItDidNotReach) {
  Machine machine;
  machine.Joined();
  machine.Barrier(2, absl::Seconds(30));
  machine.Sleep(absl::Minutes(5));
  machine.Reply(absl::DeadlineExceededError("Deadline Exceeded"));
  EXPECT_THAT(std::string(machine.EndOf(2)->message()),
              HasSubstr("could not reach the coordinator at host:7370"));
}

TEST(MemberCoreTest, CallThatTheCoordinatorCannotTakeYetIsRepeatedUnderTheSameNumber) {
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
