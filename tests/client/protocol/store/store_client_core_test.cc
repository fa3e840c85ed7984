// Tests of the decisions of one client of the store, with a stepped clock: its stream, and its
// operations.
#include "client/src/protocol/store/store_client_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "muster/exit_code.h"
#include "tests/client/protocol/store/store_machine.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the ids of the operations among these messages.
std::vector<StoreCallId> OperationsIn(const std::vector<v1::StoreRequest>& sent) {
  std::vector<StoreCallId> ids;
  for (const v1::StoreRequest& request : sent) {
    if (request.has_operation()) ids.push_back(request.operation().id());
  }
  return ids;
}

std::vector<StoreCallId> CancelsIn(const std::vector<v1::StoreRequest>& sent) {
  std::vector<StoreCallId> ids;
  for (const v1::StoreRequest& request : sent) {
    if (request.has_cancel()) ids.push_back(request.cancel().operation());
  }
  return ids;
}

// Returns the last confirmation among these messages, or 0.
uint64_t ConfirmedIn(const std::vector<v1::StoreRequest>& sent) {
  uint64_t processed = 0;
  for (const v1::StoreRequest& request : sent) {
    if (request.has_confirm()) processed = request.confirm().processed();
  }
  return processed;
}

absl::StatusCode CodeOf(const StoreMachine& client, StoreCallId id) {
  return client.EndOf(id)->answer.status().code();
}
std::string TextOf(const StoreMachine& client, StoreCallId id) {
  return std::string(client.EndOf(id)->answer.status().message());
}

TEST(StoreClientCoreTest, OpensNoStreamBeforeItIsNeeded) {
  StoreMachine client;
  client.Advance(absl::Hours(1));
  EXPECT_EQ(client.streams(), 0);
  client.Begin(1, GetOf("a"));
  EXPECT_EQ(client.streams(), 1);
}

TEST(StoreClientCoreTest, BeginsAStreamWithOpenAndClaimAndSendsTheRestWhenItIsAccepted) {
  StoreMachine client;
  client.Begin(1, SetOf("a", "1"), absl::Seconds(30));
  const std::vector<v1::StoreRequest> sent = client.TakeSent();
  ASSERT_EQ(sent.size(), 2);
  const v1::StoreOpen& open = sent[0].open();
  EXPECT_EQ(open.job_id(), "run");
  EXPECT_EQ(open.incarnation(), "self------------");
  EXPECT_EQ(open.secret(), "secret----------");
  EXPECT_EQ(open.node(), "node-a");
  EXPECT_EQ(open.protocol_version(), 1);
  EXPECT_EQ(open.attempt(), 1);
  EXPECT_FALSE(open.was_served());
  EXPECT_EQ(open.next_operation(), 2);
  EXPECT_THAT(open.unanswered(), ElementsAre(1));
  EXPECT_THAT(sent[1].claim().joined(), ElementsAre("self------------"));
  EXPECT_TRUE(sent[1].claim().last());

  client.Advance(absl::Seconds(10));
  client.Accept();
  const std::vector<v1::StoreRequest> rest = client.TakeSent();
  ASSERT_THAT(OperationsIn(rest), ElementsAre(1));
  EXPECT_EQ(rest[0].operation().set().value(), "1");
  EXPECT_EQ(rest[0].operation().wait_timeout().seconds(), 20);
}

TEST(StoreClientCoreTest, RepeatsOperationsOnEveryStreamUntilTheyAreAnswered) {
  StoreMachine client;
  client.Begin(1, SetOf("a", "1"));
  client.Begin(2, GetOf("b"));
  client.Accept();
  client.Begin(3, PopOf("c"));
  EXPECT_THAT(OperationsIn(client.TakeSent()), ElementsAre(1, 2, 3));
  client.Answer(2, "value");
  EXPECT_EQ(client.EndOf(2)->answer->value(), "value");

  for (uint64_t stream = 2; stream < 5; ++stream) {
    client.Reopen();
    const v1::StoreOpen open = client.TakeSent().front().open();
    EXPECT_THAT(open.unanswered(), ElementsAre(1, 3));
    EXPECT_EQ(open.next_operation(), 4);
    EXPECT_EQ(open.attempt(), stream);
    EXPECT_TRUE(open.was_served());
    client.Accept();
    EXPECT_THAT(OperationsIn(client.TakeSent()), ElementsAre(1, 3));
  }
}

TEST(StoreClientCoreTest, RepeatsOperationsAndWatchesInTheOrderOfTheirIds) {
  StoreMachine client;
  client.Begin(1, GetOf("a"));
  client.Watch(2, "");
  client.Begin(3, GetOf("b"));
  client.Watch(4, "");
  client.Accept();
  EXPECT_THAT(OperationsIn(client.TakeSent()), ElementsAre(1, 2, 3, 4));
  client.Reopen();
  client.Accept();
  EXPECT_THAT(OperationsIn(client.TakeSent()), ElementsAre(1, 2, 3, 4));
}

TEST(StoreClientCoreTest, IgnoresAnswersOfOlderStreams) {
  StoreMachine client;
  client.Begin(1, GetOf("a"));
  client.Accept();
  client.EndStream();
  client.SayOnStream(1, StoreMachine::AnswerOf(1, "old"));
  EXPECT_EQ(client.EndOf(1), nullptr);
  while (client.streams() == 1) client.Advance(client.UntilDeadline());
  client.SayOnStream(1, StoreMachine::AnswerOf(1, "old"));
  EXPECT_EQ(client.EndOf(1), nullptr);
  client.Accept();
  client.Answer(1, "new");
  EXPECT_EQ(client.EndOf(1)->answer->value(), "new");
}

TEST(StoreClientCoreTest, ConfirmsEachMessageOfTheStream) {
  StoreMachine client;
  client.Begin(1, SetOf("a", "1"));
  client.Accept();
  EXPECT_EQ(ConfirmedIn(client.TakeSent()), 1);
  client.Say(HoldOf("b", 4, "held"));
  EXPECT_EQ(ConfirmedIn(client.TakeSent()), 2);
  client.Answer(1, "value");
  EXPECT_EQ(ConfirmedIn(client.TakeSent()), 3);
  client.Advance(absl::Minutes(1));
  EXPECT_TRUE(client.TakeSent().empty());
  client.Reopen();
  client.TakeSent();
  client.Accept();
  EXPECT_EQ(ConfirmedIn(client.TakeSent()), 1);
}

TEST(StoreClientCoreTest, ConfirmsAnswersToReadsWithTheNextMessageThatTheDaemonWaitsFor) {
  StoreMachine client;
  client.Begin(1, GetOf("a"));
  client.Begin(2, GetOf("b"));
  client.Accept();
  client.TakeSent();
  client.Answer(1, "value");
  client.Answer(2, "value");
  EXPECT_TRUE(client.TakeSent().empty());
  client.Say(HoldOf("c", 4, "held"));
  EXPECT_EQ(ConfirmedIn(client.TakeSent()), 4);
}

// The daemon reads no request of a client that leaves too much unconfirmed.
TEST(StoreClientCoreTest, ConfirmsAnswersToManyReads) {
  StoreMachine client;
  client.Begin(1, GetOf("a"));
  client.Accept();
  client.Answer(1, "value");
  client.TakeSent();
  StoreCallId id = 2;
  for (uint64_t confirmed = 0; confirmed == 0; ++id) {
    ASSERT_LT(id, 1000);
    client.Begin(id, GetOf("a"));
    client.Answer(id, "value");
    confirmed = ConfirmedIn(client.TakeSent());
  }
  int large = 0;
  for (uint64_t confirmed = 0; confirmed == 0; ++id, ++large) {
    ASSERT_LT(large, 30);
    client.Begin(id, GetOf("a"));
    client.Answer(id, std::string(1 << 20, 'x'));
    confirmed = ConfirmedIn(client.TakeSent());
  }
}

TEST(StoreClientCoreTest, HoldsTheEntryThatItsOwnOperationSets) {
  StoreMachine client;
  client.Begin(1, SetOf("a", "mine"));
  client.Accept();
  v1::StoreResponse hold = HoldOf("a", 9, "");
  hold.mutable_hold()->set_value_of_operation(1);
  client.Say(hold);
  EXPECT_EQ(client.EndOf(1), nullptr);
  EXPECT_EQ(client.core().held().entries().at("a").entry.value(), "mine");
  client.Answer(1, "");
  EXPECT_TRUE(client.EndOf(1)->answer.ok());

  client.Reopen();
  const std::vector<v1::StoreRequest> sent = client.TakeSent();
  EXPECT_EQ(sent[0].open().highest_revision(), 9);
  EXPECT_THAT(sent[0].open().unanswered(), ElementsAre());
  ASSERT_EQ(sent[1].claim().entries_size(), 1);
  EXPECT_EQ(sent[1].claim().entries(0).key(), "a");
  EXPECT_EQ(sent[1].claim().entries(0).revision(), 9);
  EXPECT_EQ(sent[1].claim().entries(0).daemon_instance(), 7);
}

TEST(StoreClientCoreTest, OpensAnotherStreamIfAChangeDoesNotFitAndDoesNotConfirmIt) {
  StoreMachine client;
  client.Begin(1, GetOf("a"));
  client.Accept();
  client.TakeSent();
  v1::StoreResponse push = HoldOf("queue", 9, "");
  push.mutable_hold()->mutable_change()->set_base_revision(8);
  push.mutable_hold()->mutable_change()->set_pushed("element");
  client.Say(push);
  EXPECT_TRUE(client.has_cancelled_stream());
  EXPECT_EQ(ConfirmedIn(client.TakeSent()), 0);
  client.Advance(absl::Seconds(2));
  EXPECT_EQ(client.streams(), 2);
  EXPECT_EQ(client.TakeSent()[1].claim().entries_size(), 0);
  client.Accept();
  EXPECT_THAT(OperationsIn(client.TakeSent()), ElementsAre(1));
}

TEST(StoreClientCoreTest, MergesTheListOfClientsByUnion) {
  StoreMachine client;
  client.Begin(1, GetOf("a"));
  client.Accept();
  v1::StoreResponse news;
  news.mutable_clients()->add_joined("b");
  news.mutable_clients()->add_joined("c");
  client.Say(news);
  news.mutable_clients()->clear_joined();
  news.mutable_clients()->add_lost("b");
  client.Say(news);
  client.Reopen();
  const std::vector<v1::StoreRequest> sent = client.TakeSent();
  EXPECT_FALSE(sent[0].open().was_served());  // news serve no operation
  EXPECT_THAT(sent[1].claim().joined(), ElementsAre("b", "c", "self------------"));
  EXPECT_THAT(sent[1].claim().lost(), ElementsAre("b"));
}

TEST(StoreClientCoreTest, SendsTheEntriesThatTheDaemonFetches) {
  StoreMachine client;
  client.Begin(1, GetOf("a"));
  client.Accept();
  client.Say(HoldOf("b", 4, "held"));
  client.TakeSent();
  v1::StoreResponse fetch;
  fetch.mutable_fetch()->add_keys("b");
  client.Say(fetch);
  const std::vector<v1::StoreRequest> sent = client.TakeSent();
  ASSERT_TRUE(sent[0].has_entries());
  EXPECT_EQ(sent[0].entries().entries(0).entry().value(), "held");
}

TEST(StoreClientCoreTest, EndsAnOperationThatWasNeverSentAtItsTimeout) {
  StoreMachine client;
  client.Begin(1, SetOf("a", "1"), absl::Seconds(5));
  client.EndStream();
  client.Advance(absl::Seconds(4));
  EXPECT_EQ(client.EndOf(1), nullptr);
  client.Advance(absl::Seconds(1));
  ASSERT_EQ(CodeOf(client, 1), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(TextOf(client, 1),
              HasSubstr("job 'run': Store::Set('a') timed out after 5s; it could not reach the "
                        "coordinator at host:7370 for 5s (last error: connection refused)"));
  EXPECT_EQ(ExitCode(client.EndOf(1)->answer.status()), kExitCoordinatorLost);
}

TEST(StoreClientCoreTest, EndsAReadAtItsTimeoutWhileTheCoordinatorIsAway) {
  StoreMachine client;
  client.Begin(1, GetOf("a"), absl::Seconds(5));
  client.Accept();
  client.EndStream();
  client.Advance(absl::Seconds(5));
  EXPECT_EQ(CodeOf(client, 1), absl::StatusCode::kDeadlineExceeded);
}

TEST(StoreClientCoreTest, DoesNotEndAChangeThatWasSentBeforeCoordinatorTimeout) {
  StoreMachine client;
  client.Begin(1, PopOf("a"), absl::Seconds(5));
  client.Accept();
  client.EndStream();
  client.Cancel(1);
  client.Advance(absl::Minutes(10) - absl::Seconds(1));
  EXPECT_EQ(client.EndOf(1), nullptr);
  client.Advance(absl::Seconds(1));
  ASSERT_EQ(CodeOf(client, 1), absl::StatusCode::kUnavailable);
  EXPECT_THAT(TextOf(client, 1), HasSubstr("it may or may not have taken effect"));
  // The coordinator comes back, and the client goes on.
  client.Accept();
  client.Begin(2, GetOf("a"));
  EXPECT_THAT(OperationsIn(client.TakeSent()), ElementsAre(2));
}

TEST(StoreClientCoreTest, SaysTheDaemonsErrors) {
  StoreMachine client;
  client.Begin(1, GetOf("a"), absl::Seconds(5));
  client.Accept();
  client.Refuse(1, absl::DeadlineExceededError("key 'a' was not set within 5s"));
  EXPECT_EQ(CodeOf(client, 1), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(TextOf(client, 1), "key 'a' was not set within 5s");
}

TEST(StoreClientCoreTest, AsksTheDaemonToGiveUpAnOverdueChange) {
  StoreMachine client;
  client.Begin(1, PopOf("a"), absl::Seconds(5));
  client.Accept();
  client.TakeSent();
  client.Advance(absl::Seconds(9));
  EXPECT_TRUE(client.TakeSent().empty());
  client.Advance(absl::Seconds(1));
  EXPECT_THAT(CancelsIn(client.TakeSent()), ElementsAre(1));
  client.Advance(absl::Hours(1));
  EXPECT_EQ(client.EndOf(1), nullptr);
  client.Refuse(1, absl::CancelledError("given up"));
  ASSERT_EQ(CodeOf(client, 1), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(TextOf(client, 1), HasSubstr("Store::Pop('a') timed out after 5s"));
}

TEST(StoreClientCoreTest, GivesUpAPopOnlyWithTheDaemonsAnswer) {
  StoreMachine client;
  client.Begin(1, PopOf("a"));
  client.Accept();
  client.TakeSent();
  client.Cancel(1);
  EXPECT_THAT(CancelsIn(client.TakeSent()), ElementsAre(1));
  EXPECT_EQ(client.EndOf(1), nullptr);
  client.Reopen();
  client.TakeSent();
  client.Accept();
  const std::vector<v1::StoreRequest> sent = client.TakeSent();
  EXPECT_THAT(OperationsIn(sent), ElementsAre(1));
  EXPECT_THAT(CancelsIn(sent), ElementsAre(1));
  client.Refuse(1, absl::CancelledError("given up"));
  EXPECT_EQ(CodeOf(client, 1), absl::StatusCode::kCancelled);
  EXPECT_EQ(TextOf(client, 1), "job 'run': Store::Pop('a') was cancelled");
}

TEST(StoreClientCoreTest, ReturnsAnElementThatWasPoppedBeforeTheCancel) {
  StoreMachine client;
  client.Begin(1, PopOf("a"));
  client.Accept();
  client.Cancel(1);
  client.Answer(1, "element");
  ASSERT_TRUE(client.EndOf(1)->answer.ok());
  EXPECT_EQ(client.EndOf(1)->answer->value(), "element");
}

TEST(StoreClientCoreTest, GivesUpAReadAtOnce) {
  StoreMachine client;
  client.Begin(1, GetOf("a"));
  client.Accept();
  client.TakeSent();
  client.Cancel(1);
  EXPECT_EQ(CodeOf(client, 1), absl::StatusCode::kCancelled);
  EXPECT_THAT(CancelsIn(client.TakeSent()), ElementsAre(1));
  client.Answer(1, "late");
}

TEST(StoreClientCoreTest, EndsACancelledOperationThatWasNeverSent) {
  StoreMachine client;
  client.Begin(1, PopOf("a"));
  client.Cancel(1);
  EXPECT_EQ(CodeOf(client, 1), absl::StatusCode::kCancelled);
  client.Accept();
  EXPECT_TRUE(OperationsIn(client.TakeSent()).empty());
}

TEST(StoreClientCoreTest, EndsEverythingIfTheClientCountsAsLost) {
  StoreMachine client;
  client.Begin(1, PopOf("a"));
  client.Watch(2, "");
  client.Accept();
  client.EndStream(absl::AbortedError("this client was lost"));
  ASSERT_EQ(CodeOf(client, 1), absl::StatusCode::kAborted);
  EXPECT_THAT(TextOf(client, 1), HasSubstr("this client was lost"));
  EXPECT_EQ(CodeOf(client, 2), absl::StatusCode::kAborted);
  client.Begin(3, GetOf("a"));
  EXPECT_EQ(CodeOf(client, 3), absl::StatusCode::kAborted);
  client.Advance(absl::Hours(1));
  EXPECT_EQ(client.streams(), 1);
}

TEST(StoreClientCoreTest, SaysThatTheCoordinatorHasNoStore) {
  StoreMachine client;
  client.Begin(1, GetOf("a"));
  client.EndStream(absl::UnimplementedError(""));
  ASSERT_EQ(CodeOf(client, 1), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(TextOf(client, 1), HasSubstr("this musterd has no store; install a release"));
}

TEST(StoreClientCoreTest, SendsNoOperationThatIsOverTheDaemonsLimits) {
  StoreMachine client;
  client.Begin(1, SetOf("a", std::string((8 << 20) + 1, 'v')));
  client.Begin(2, GetOf(std::string((8 << 10) + 1, 'k')));
  client.Accept();
  EXPECT_TRUE(OperationsIn(client.TakeSent()).empty());
  ASSERT_EQ(CodeOf(client, 1), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(TextOf(client, 1), HasSubstr("--max-store-value-bytes"));
  ASSERT_EQ(CodeOf(client, 2), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(TextOf(client, 2), HasSubstr("--max-store-key-bytes"));
}

TEST(StoreClientCoreTest, EndsAChangeThatEndsEveryStream) {
  StoreMachine client;
  client.Begin(1, SetOf("a", "1"));
  // Each stream is accepted, and ends when the operation comes.
  for (int second = 0; second < 700 && client.EndOf(1) == nullptr; ++second) {
    client.Accept();
    client.EndStream(absl::ResourceExhaustedError("too many bytes"));
    client.Advance(absl::Seconds(1));
  }
  ASSERT_NE(client.EndOf(1), nullptr);
  EXPECT_EQ(CodeOf(client, 1), absl::StatusCode::kUnavailable);
}

TEST(StoreClientCoreTest, LeavesWhenItIsStopped) {
  StoreMachine client;
  client.Begin(1, PopOf("a"));
  client.Accept();
  client.Stop();
  EXPECT_EQ(CodeOf(client, 1), absl::StatusCode::kCancelled);
  EXPECT_THAT(TextOf(client, 1), HasSubstr("the Job was destroyed"));
  EXPECT_TRUE(client.has_left());
  client.EndStream(absl::OkStatus());
  client.Advance(absl::Hours(1));
  EXPECT_EQ(client.streams(), 1);
}

}  // namespace
}  // namespace muster::internal
