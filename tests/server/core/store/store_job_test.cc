#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/api/describe.h"
#include "tests/server/core/harness.h"

// The store as a part of the coordinator: who may have a stream, and what ends it.
namespace muster::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StoreJobTest : public ::testing::Test {
 protected:
  static StoreOpen OpenOf(const std::string& incarnation) {
    StoreOpen open;
    open.job_id = "train";
    open.incarnation = incarnation;
    open.protocol_version = kProtocolVersion;
    open.node = "n0";
    open.attempt = 1;
    return open;
  }

  // Opens a store stream, and returns its id.
  WaiterId Open(Harness* h, const StoreOpen& open) {
    const WaiterId stream = h->NextId();
    Send(h, stream, {open});
    StoreClaim claim;
    claim.joined = {open.incarnation};
    claim.last = true;
    if (!h->EndOf(stream)) Send(h, stream, {claim});
    return stream;
  }

  void Send(Harness* h, WaiterId stream, const StoreRequest& request) {
    Effects effects = h->coordinator().Step(h->now(), stream, request);
    for (StoreMessage& message : effects.store) messages_.push_back(std::move(message));
    h->Absorb(0, std::move(effects));
  }

  // Returns the answers on a stream since the last call.
  std::vector<StoreAnswer> TakeAnswers(WaiterId stream) {
    std::vector<StoreAnswer> answers;
    for (const StoreMessage& message : std::exchange(messages_, {})) {
      const auto* answer = std::get_if<StoreAnswer>(&message.message);
      if (answer != nullptr && message.stream == stream) answers.push_back(*answer);
    }
    return answers;
  }

  // Lets these clients confirm all that they are sent.
  void DeliverAll(Harness* h, const std::vector<WaiterId>& streams) {
    std::map<WaiterId, uint64_t> sent;
    for (bool busy = true; busy;) {
      busy = false;
      for (const StoreMessage& message : std::exchange(messages_, {})) ++sent[message.stream];
      for (const WaiterId stream : streams) {
        if (sent[stream] == confirmed_[stream]) continue;
        busy = true;
        Send(h, stream, {StoreConfirm{confirmed_[stream] = sent[stream]}});
      }
    }
  }

  static StoreRequest Set(uint64_t id, const std::string& key, const std::string& value) {
    return {StoreOperation{id, {}, StoreSet{key, std::make_shared<std::string>(value)}}};
  }

  const std::string id_ = std::string(16, 's');
  std::vector<StoreMessage> messages_;
  std::map<WaiterId, uint64_t> confirmed_;
};

TEST_F(StoreJobTest, AClientIsServedBesideTheJob) {
  Harness h(2);
  const WaiterId stream = Open(&h, OpenOf(id_));
  Send(&h, stream, Set(1, "k", "v"));
  EXPECT_EQ(TakeAnswers(stream).size(), 1u);
  h.Formed(2);
  Send(&h, stream, {StoreConfirm{3}});  // Opened, the hold and the answer
  Send(&h, stream, {StoreOperation{2, {}, StoreGet{"k"}}});
  const std::vector<StoreAnswer> answers = TakeAnswers(stream);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(*answers[0].value, "v");
}

TEST_F(StoreJobTest, ErrorsNameTheJob) {
  Harness h(2);
  const WaiterId stream = Open(&h, OpenOf(id_));
  Send(&h, stream, {StoreOperation{1, absl::ZeroDuration(), StoreGet{"k"}}});
  const std::vector<StoreAnswer> answers = TakeAnswers(stream);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0].error.ToString(), HasSubstr("job 'train': key 'k' has not been set"));
}

TEST_F(StoreJobTest, AnOpenThatDoesNotFitTheJobIsRefused) {
  Harness h(2);
  StoreOpen open = OpenOf(id_);
  open.job_id = "other";
  EXPECT_EQ(h.EndOf(Open(&h, open))->code(), absl::StatusCode::kNotFound);
  open = OpenOf("short");
  EXPECT_EQ(h.EndOf(Open(&h, open))->code(), absl::StatusCode::kInvalidArgument);
  open = OpenOf(id_);
  open.protocol_version = 99;
  EXPECT_EQ(h.EndOf(Open(&h, open))->code(), absl::StatusCode::kFailedPrecondition);
  open = OpenOf(id_);
  open.node = "";
  EXPECT_EQ(h.EndOf(Open(&h, open))->code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StoreJobTest, AnOperationTimesOutAtItsDeadline) {
  Harness h(2);
  const WaiterId stream = Open(&h, OpenOf(id_));
  Send(&h, stream, {StoreOperation{1, absl::Seconds(5), StoreGet{"k"}}});
  EXPECT_EQ(h.coordinator().NextDeadline(), h.now() + absl::Seconds(5));
}

TEST_F(StoreJobTest, ALongWaitIsReportedWithItsRanksAndAgainWhenItHasDoubled) {
  core::Options options = Harness::DefaultOptions(2);
  options.stall_warning = absl::Seconds(30);
  Harness h(options);
  StoreOpen open = OpenOf(id_);
  open.rank = 3;
  const WaiterId stream = Open(&h, open);
  Send(&h, stream, {StoreOperation{1, absl::Hours(1), StoreGet{"k"}}});
  const auto reports = [&] {
    std::vector<std::string> texts;
    for (const LogLine& line : h.log()) {
      if (line.severity == Severity::kWarning) texts.push_back(line.text);
    }
    return texts;
  };
  h.Advance(absl::Seconds(29));
  EXPECT_EQ(reports().size(), 0u);
  h.Advance(absl::Seconds(2));
  ASSERT_EQ(reports().size(), 1u);
  EXPECT_THAT(reports()[0], HasSubstr("rank 3 has waited 30s in the store: key 'k' has not been"));
  h.Advance(absl::Seconds(60));
  EXPECT_EQ(reports().size(), 2u);
  const JobStatus status = h.coordinator().GetStatus(h.now());
  ASSERT_EQ(status.store_waits.size(), 1u);
  EXPECT_EQ(status.store_waits[0].ranks, std::vector<uint32_t>{3});
  EXPECT_EQ(status.store_waits[0].what, "key 'k' has not been set");
  Send(&h, stream, Set(2, "k", "v"));
  h.Advance(absl::Hours(1));
  EXPECT_EQ(reports().size(), 2u);
  EXPECT_TRUE(h.coordinator().GetStatus(h.now()).store_waits.empty());
}

TEST_F(StoreJobTest, WaitsForTheSameThingAreReportedTogether) {
  Harness h(2);
  h.Formed(2);
  std::vector<WaiterId> streams;
  const auto open = [&](char name, const std::function<void(StoreOpen*)>& change) {
    StoreOpen message = OpenOf(std::string(16, name));
    change(&message);
    streams.push_back(Open(&h, message));
  };
  open('a', [](StoreOpen* o) { o->rank = 5; });
  open('b', [](StoreOpen* o) { o->rank = 3; });
  open('c', [](StoreOpen* o) { o->launcher = true, o->node = "n1"; });
  open('d', [](StoreOpen*) {});
  open('e', [](StoreOpen* o) { o->rank = 7; });
  DeliverAll(&h, streams);
  for (size_t i = 0; i < 4; ++i) Send(&h, streams[i], {StoreOperation{1, {}, StoreGet{"k"}}});
  h.Advance(absl::Seconds(1));
  Send(&h, streams[4], {StoreOperation{1, {}, StorePop{"q"}}});
  h.Advance(absl::Seconds(40));
  const std::vector<StoreWaiters> waits = h.coordinator().GetStatus(h.now()).store_waits;
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].age, absl::Seconds(41));
  EXPECT_EQ(
      DescribeStoreWaiters(waits[0], {}),
      "ranks 3,5 and the launcher of node 'n1' and a process without a rank have waited 41s in "
      "the store: key 'k' has not been set");
  EXPECT_EQ(DescribeStoreWaiters(waits[1], {}),
            "rank 7 has waited 40s in the store: queue 'q' has had no element to pop");
}

TEST_F(StoreJobTest, KeysInReportsArePrintableAndShort) {
  Harness h(2);
  const WaiterId stream = Open(&h, OpenOf(id_));
  Send(&h, stream,
       {StoreOperation{1, {}, StoreGet{"a\n\033[2J\xff" + std::string(127, 'x') + "y"}}});
  const std::string what = h.coordinator().GetStatus(h.now()).store_waits.at(0).what;
  EXPECT_EQ(what, "key 'a??[2J?" + std::string(121, 'x') + "...' has not been set");
  Send(&h, stream, {StoreOperation{2, {}, StoreGet{std::string(127, 'x') + "\u00e9"}}});
  EXPECT_EQ(h.coordinator().GetStatus(h.now()).store_waits.at(1).what,
            "key '" + std::string(127, 'x') + "...' has not been set");
}

// A client names the rank of its first epoch. The process may have another one by now.
TEST_F(StoreJobTest, AMemberIsReportedWithItsRankInTheJob) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  StoreOpen open = OpenOf(p[1].identity.incarnation);
  open.rank = 7;
  Send(&h, Open(&h, open), {StoreOperation{1, {}, StoreGet{"k"}}});
  h.Advance(absl::Seconds(41));
  const JobStatus status = h.coordinator().GetStatus(h.now());
  ASSERT_EQ(status.store_waits.size(), 1u);
  EXPECT_EQ(status.store_waits[0].ranks, std::vector<uint32_t>{1});
  EXPECT_EQ(status.members[0].missing_in_store, "");
  EXPECT_EQ(status.members[1].missing_in_store, "key 'k' has not been set");
  EXPECT_EQ(status.members[1].in_store_for, absl::Seconds(41));
}

TEST_F(StoreJobTest, ACollectiveThatTimesOutSaysThatTheMissingRankWaitsInTheStore) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId stream = Open(&h, OpenOf(p[1].identity.incarnation));
  Send(&h, stream, {StoreOperation{1, absl::Hours(1), StoreGet{"k"}}});
  h.Advance(absl::Seconds(11));
  const WaiterId barrier = h.Barrier(p[0], "x", absl::Seconds(30));
  h.Advance(absl::Seconds(30));
  EXPECT_THAT(h.StatusOf(barrier).ToString(),
              HasSubstr(", in the store for 41s (key 'k' has not been set), "));
  Send(&h, stream, Set(2, "k", "v"));
  const WaiterId again = h.Barrier(p[0], "x", absl::Seconds(30));
  h.Advance(absl::Seconds(30));
  EXPECT_THAT(h.StatusOf(again).ToString(), Not(HasSubstr("in the store")));
}

// Its call is what the others see of it.
TEST_F(StoreJobTest, ARankThatIsInACallIsNotSaidToWaitInTheStore) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  const WaiterId stream = Open(&h, OpenOf(p[1].identity.incarnation));
  Send(&h, stream, {StoreOperation{1, absl::Hours(1), StoreGet{"k"}}});
  h.Acquire(p[2], "work", 1);
  h.Acquire(p[1], "work", 1);
  const WaiterId barrier = h.Barrier(p[0], "x", absl::Seconds(30));
  h.Advance(absl::Seconds(30));
  EXPECT_THAT(h.StatusOf(barrier).ToString(), HasSubstr(", in AcquireLease('work') for 30s"));
  EXPECT_THAT(h.StatusOf(barrier).ToString(), Not(HasSubstr("in the store")));
}

TEST_F(StoreJobTest, AQueueIsLimited) {
  core::Options options = Harness::DefaultOptions(2);
  options.store.max_value_bytes = 1000;
  Harness h(options);
  const WaiterId stream = Open(&h, OpenOf(id_));
  const auto element = std::make_shared<std::string>(1000, 'e');
  std::vector<StoreAnswer> answers;
  for (uint64_t id = 1; id <= 9; ++id) {
    Send(&h, stream, {StoreOperation{id, {}, StorePush{"q", element}}});
    answers = TakeAnswers(stream);
    ASSERT_EQ(answers.size(), 1u);
    if (!answers[0].error.ok()) break;
    Send(&h, stream, {StoreConfirm{1 + 2 * id}});  // Opened, holds and answers
  }
  EXPECT_EQ(answers[0].error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(answers[0].error.ToString(), HasSubstr("queue 'q' would have"));
}

TEST_F(StoreJobTest, TheEndOfItsProcessEndsAClient) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId stream = Open(&h, OpenOf(p[1].identity.incarnation));
  EXPECT_FALSE(h.EndOf(stream));
  h.ReportExit(p[1], /*signaled=*/true, 9);
  ASSERT_TRUE(h.EndOf(stream));
  EXPECT_EQ(h.EndOf(stream)->code(), absl::StatusCode::kAborted);
  EXPECT_THAT(h.EndOf(stream)->ToString(), HasSubstr("SIGKILL"));
}

TEST_F(StoreJobTest, TheLossOfAMemberEndsItsClient) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId stream = Open(&h, OpenOf(p[1].identity.incarnation));
  const WaiterId other = Open(&h, OpenOf(p[0].identity.incarnation));
  h.CloseStream(p[1]);
  h.Advance(absl::Minutes(1));
  ASSERT_TRUE(h.EndOf(stream));
  EXPECT_EQ(h.EndOf(stream)->code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(h.EndOf(other));
}

TEST_F(StoreJobTest, TheStoresBytesCountAgainstTheDaemons) {
  core::Options options = Harness::DefaultOptions(2);
  options.limits.max_held_bytes = 4096;
  Harness h(options);
  const WaiterId stream = Open(&h, OpenOf(id_));
  Send(&h, stream, Set(1, "k", std::string(8000, 'x')));
  const std::vector<StoreAnswer> answers = TakeAnswers(stream);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THAT(answers[0].error.ToString(), HasSubstr("--max-held-bytes"));
}

TEST_F(StoreJobTest, ADrainingDaemonEndsTheStreams) {
  Harness h(2);
  const WaiterId stream = Open(&h, OpenOf(id_));
  h.Absorb(0, h.coordinator().Step(h.now(), 0, DrainBegun{"the daemon stops"}));
  ASSERT_TRUE(h.EndOf(stream));
  EXPECT_EQ(h.EndOf(stream)->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(h.EndOf(Open(&h, OpenOf(id_)))->code(), absl::StatusCode::kUnavailable);
}

TEST_F(StoreJobTest, AClientThatLeavesEndsWithOk) {
  Harness h(2);
  const WaiterId stream = Open(&h, OpenOf(id_));
  h.Absorb(0, h.coordinator().Step(h.now(), stream, StoreLeft()));
  ASSERT_TRUE(h.EndOf(stream));
  EXPECT_TRUE(h.EndOf(stream)->ok());
}

TEST_F(StoreJobTest, ThereIsNoCheckpointOfAJobThatUsesTheStore) {
  Harness h(2);
  h.Formed(2);
  EXPECT_TRUE(h.coordinator().MakeCheckpoint());
  Open(&h, OpenOf(id_));
  EXPECT_FALSE(h.coordinator().MakeCheckpoint());
}

}  // namespace
}  // namespace muster::core
