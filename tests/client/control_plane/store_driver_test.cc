// Tests of the driver of a client of the store, with a daemon that the test plays by hand.
#include "client/src/control_plane/store_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/control_plane/fake_store_transport.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::StoreOperation GetOf(const std::string& key) {
  v1::StoreOperation operation;
  operation.mutable_get()->set_key(key);
  return operation;
}

v1::StoreOperation PopOf(const std::string& key) {
  v1::StoreOperation operation;
  operation.mutable_pop()->set_key(key);
  return operation;
}

CallOptions Within(absl::Duration timeout, Cancellation* cancellation = nullptr) {
  CallOptions options;
  options.timeout = timeout;
  options.cancellation = cancellation;
  return options;
}

class StoreDriverTest : public ::testing::Test {
 protected:
  StoreDriverTest() {
    StoreClientOptions options;
    options.coordinator = "host:7370";
    options.job_id = "run";
    options.identity.incarnation = "self------------";
    options.coordinator_timeout = absl::Minutes(10);
    options.random = [] { return 0; };
    driver_ = *StoreDriver::Start(std::move(options), daemon_.NewTransport());
  }

  // Begins an operation on another thread.
  std::future<absl::StatusOr<v1::StoreAnswer>> Begin(v1::StoreOperation operation,
                                                     const CallOptions& options) {
    return std::async(std::launch::async, [this, operation = std::move(operation), options] {
      return driver_->Call(operation, options);
    });
  }

  // Begins the first operation on another thread, which owns `driver` until the operation ends.
  // Returns when that thread polls, with its id in caller_.
  std::future<absl::StatusOr<v1::StoreAnswer>> BeginAndPoll(std::shared_ptr<StoreDriver> driver) {
    std::promise<std::thread::id> begun;
    auto answer = std::async(std::launch::async, [&begun, driver = std::move(driver)]() mutable {
      begun.set_value(std::this_thread::get_id());
      auto ended = driver->Call(GetOf("a"), Within(absl::Hours(1)));
      driver.reset();
      return ended;
    });
    caller_ = begun.get_future().get();
    daemon_.AcceptNext();
    daemon_.Next();
    // Each message lets the stand-in look whether another thread waits.
    for (int i = 0; daemon_.poller() != caller_; ++i) {
      SayHold(absl::StrCat("key ", i));
      daemon_.AwaitConfirmation();
    }
    return answer;
  }

  // Answers the client's next operation, which must have this key.
  void AnswerNext(const std::string& key, const std::string& value) {
    const v1::StoreRequest request = daemon_.Next();
    EXPECT_EQ(request.operation().get().key(), key);
    Answer(request, value);
  }

  // Answers an operation with a value.
  void Answer(const v1::StoreRequest& request, const std::string& value) {
    v1::StoreResponse response;
    response.mutable_answer()->set_operation(request.operation().id());
    response.mutable_answer()->set_value(value);
    daemon_.Say(std::move(response));
  }

  // Lets this client hold the copy of an entry that another client has changed.
  void SayHold(const std::string& key) {
    v1::StoreResponse response;
    response.mutable_hold()->set_key(key);
    response.mutable_hold()->set_revision(1);
    response.mutable_hold()->mutable_entry()->set_value("value");
    daemon_.Say(std::move(response));
  }

  void SayEvent(uint64_t watch, const std::string& key, uint64_t revision) {
    v1::StoreResponse response;
    response.mutable_event()->set_watch(watch);
    response.mutable_event()->set_key(key);
    response.mutable_event()->set_revision(revision);
    response.mutable_event()->set_value("value");
    daemon_.Say(std::move(response));
  }

  std::thread::id caller_;
  FakeStoreDaemon daemon_;
  std::shared_ptr<StoreDriver> driver_;
};

TEST_F(StoreDriverTest, ReturnsTheAnswer) {
  for (int i = 0; i < 3; ++i) {
    auto answer = Begin(GetOf("a"), Within(absl::Hours(1)));
    if (i == 0) daemon_.AcceptNext();
    AnswerNext("a", "value");
    EXPECT_EQ(answer.get()->value(), "value");
  }
}

// Before its first operation no thread of the program waits, and the stand-in takes the messages.
TEST_F(StoreDriverTest, AWaitingThreadTakesItsOwnAnswer) {
  bool accepted = false;
  for (bool by_itself = false; !by_itself;) {
    std::thread::id caller;
    auto answers = std::async(std::launch::async, [&] {
      caller = std::this_thread::get_id();
      EXPECT_TRUE(driver_->Call(GetOf("a"), Within(absl::Hours(1))).ok());
      return driver_->Call(GetOf("b"), Within(absl::Hours(1)));
    });
    if (!std::exchange(accepted, true)) daemon_.AcceptNext();
    AnswerNext("a", "value");
    AnswerNext("b", "value");
    EXPECT_TRUE(answers.get().ok());
    by_itself = daemon_.receiver() == caller;
  }
}

TEST_F(StoreDriverTest, OneThreadTakesAnswersForOthersToo) {
  bool accepted = false;
  for (const bool first_to_wait_ends_first : {true, false}) {
    auto one = Begin(GetOf("a"), Within(absl::Hours(1)));
    if (!std::exchange(accepted, true)) daemon_.AcceptNext();
    const v1::StoreRequest request_of_one = daemon_.Next();
    auto two = Begin(GetOf("b"), Within(absl::Hours(1)));
    const v1::StoreRequest request_of_two = daemon_.Next();
    Answer(first_to_wait_ends_first ? request_of_one : request_of_two, "first");
    EXPECT_EQ((first_to_wait_ends_first ? one : two).get()->value(), "first");
    Answer(first_to_wait_ends_first ? request_of_two : request_of_one, "second");
    EXPECT_EQ((first_to_wait_ends_first ? two : one).get()->value(), "second");
  }
}

TEST_F(StoreDriverTest, ConfirmsForOthersWhileNoThreadWaits) {
  auto answer = Begin(GetOf("a"), Within(absl::Hours(1)));
  daemon_.AcceptNext();
  AnswerNext("a", "value");
  EXPECT_TRUE(answer.get().ok());
  for (const char* key : {"b", "c"}) {
    SayHold(key);
    daemon_.AwaitConfirmation();
  }
}

TEST_F(StoreDriverTest, ConfirmsForOthersWhileAThreadWaits) {
  auto answer = Begin(PopOf("a"), Within(absl::Hours(1)));
  daemon_.AcceptNext();
  const v1::StoreRequest request = daemon_.Next();
  for (const char* key : {"b", "c"}) {
    SayHold(key);
    daemon_.AwaitConfirmation();
  }
  Answer(request, "element");
  EXPECT_EQ(answer.get()->value(), "element");
}

TEST_F(StoreDriverTest, CallsTheCallbackOfAnOperationThatWasBegun) {
  for (const char* value : {"one", "two"}) {
    std::promise<absl::StatusOr<v1::StoreAnswer>> answer;
    driver_->Begin(GetOf("a"), [&](absl::StatusOr<v1::StoreAnswer> got) { answer.set_value(got); });
    if (value == std::string("one")) daemon_.AcceptNext();
    AnswerNext("a", value);
    EXPECT_EQ(answer.get_future().get()->value(), value);
  }
}

TEST_F(StoreDriverTest, TellsOnceWhichClientsAreLost) {
  std::promise<std::vector<std::string>> told;
  std::vector<std::string> lost;
  driver_->OnClientLost([&](const std::string& incarnation) {
    lost.push_back(incarnation);
    if (incarnation == "b") told.set_value(lost);
  });
  auto answer = Begin(GetOf("key"), Within(absl::Minutes(1)));
  daemon_.AcceptNext();
  for (const char* client : {"a", "a", "b"}) {
    v1::StoreResponse response;
    response.mutable_clients()->add_joined("c");
    response.mutable_clients()->add_lost(client);
    daemon_.Say(std::move(response));
  }
  EXPECT_EQ(told.get_future().get(), (std::vector<std::string>{"a", "b"}));
  driver_->OnClientLost(nullptr);
  AnswerNext("key", "value");
  EXPECT_TRUE(answer.get().ok());
}

TEST_F(StoreDriverTest, RepeatsTheOperationOnTheNextStream) {
  auto answer = Begin(GetOf("a"), Within(absl::Hours(1)));
  daemon_.AcceptNext();
  daemon_.Next();
  daemon_.End(absl::UnavailableError("connection reset"));
  daemon_.AcceptNext();
  AnswerNext("a", "value");
  EXPECT_EQ(answer.get()->value(), "value");
}

TEST_F(StoreDriverTest, TimesOutWithoutADaemon) {
  const auto answer = driver_->Call(GetOf("a"), Within(absl::Milliseconds(1)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
}

// The thread that polls must look at the time earlier than its own operation needs it.
TEST_F(StoreDriverTest, AThreadTimesOutWhileAnotherOnePolls) {
  auto other = BeginAndPoll(driver_);
  daemon_.End(absl::UnavailableError("connection reset"));
  daemon_.Next();  // on the next stream
  daemon_.AwaitPollOf(caller_);
  const auto answer = driver_->Call(GetOf("b"), Within(absl::Milliseconds(1)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
  driver_->Close(absl::CancelledError("the Job was destroyed"));
  EXPECT_TRUE(absl::IsCancelled(other.get().status()));
}

TEST_F(StoreDriverTest, AnotherThreadCancelsAnOperation) {
  Cancellation cancellation;
  auto answer = Begin(PopOf("a"), Within(absl::Hours(1), &cancellation));
  daemon_.AcceptNext();
  const StoreCallId id = daemon_.Next().operation().id();
  cancellation.Cancel();
  EXPECT_EQ(daemon_.Next().cancel().operation(), id);
  v1::StoreResponse response;
  response.mutable_answer()->set_operation(id);
  response.mutable_answer()->mutable_error()->set_code(
      static_cast<uint32_t>(absl::StatusCode::kCancelled));
  daemon_.Say(std::move(response));
  EXPECT_TRUE(absl::IsCancelled(answer.get().status()));
}

TEST_F(StoreDriverTest, CallsTheCallbackOfAWatchUntilItEnds) {
  std::promise<std::string> first;
  std::vector<std::string> keys;
  auto watch = driver_->Watch("k", [&](const absl::StatusOr<v1::StoreWatchEvent>& event) {
    keys.push_back(event->key());
    if (keys.size() == 2) first.set_value(event->key());
  });
  ASSERT_TRUE(watch.ok());
  daemon_.AcceptNext();
  const StoreCallId id = daemon_.Next().operation().id();
  SayEvent(id, "k1", 1);
  SayEvent(id, "k2", 2);
  EXPECT_EQ(first.get_future().get(), "k2");
  watch->Reset();
  EXPECT_EQ(daemon_.Next().cancel().operation(), id);
  SayEvent(id, "k3", 3);
  // The driver has handled that event when it answers this.
  auto answer = Begin(GetOf("a"), Within(absl::Hours(1)));
  AnswerNext("a", "value");
  EXPECT_TRUE(answer.get().ok());
  EXPECT_EQ(keys.size(), 2);
}

TEST_F(StoreDriverTest, ACallbackMayUseTheStoreAndEndItsWatch) {
  std::promise<std::string> got;
  absl::StatusOr<Subscription> watch;
  std::promise<void> assigned;
  watch = driver_->Watch("k", [&](const absl::StatusOr<v1::StoreWatchEvent>&) {
    assigned.get_future().wait();
    got.set_value(driver_->Call(GetOf("a"), Within(absl::Hours(1)))->value());
    watch->Reset();
  });
  assigned.set_value();
  daemon_.AcceptNext();
  const StoreCallId id = daemon_.Next().operation().id();
  SayEvent(id, "k1", 1);
  AnswerNext("a", "value");
  EXPECT_EQ(got.get_future().get(), "value");
  EXPECT_EQ(daemon_.Next().cancel().operation(), id);
}

TEST_F(StoreDriverTest, TellsAWatchWhyItEnds) {
  std::promise<absl::Status> end;
  const auto watch = driver_->Watch("k", [&](const absl::StatusOr<v1::StoreWatchEvent>& event) {
    end.set_value(event.status());
  });
  daemon_.AcceptNext();
  daemon_.End(absl::AbortedError("this client was lost"));
  const absl::Status status = end.get_future().get();
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("this client was lost"));
}

TEST_F(StoreDriverTest, TellsAWatchOfTheEndBeforeItIsDestroyed) {
  std::vector<absl::StatusCode> ends;
  const auto watch = driver_->Watch("k", [&](const absl::StatusOr<v1::StoreWatchEvent>& event) {
    ends.push_back(event.status().code());
  });
  daemon_.AcceptNext();
  daemon_.Next();
  driver_.reset();
  EXPECT_THAT(ends, ElementsAre(absl::StatusCode::kCancelled));
}

TEST_F(StoreDriverTest, LeavesAndEndsOperationsWhenItIsClosed) {
  auto answer = Begin(PopOf("a"), Within(absl::Hours(1)));
  daemon_.AcceptNext();
  daemon_.Next();
  driver_->Close(absl::CancelledError("the Job was destroyed"));
  EXPECT_TRUE(absl::IsCancelled(answer.get().status()));
  daemon_.AwaitLeaving();
  EXPECT_TRUE(absl::IsCancelled(driver_->Call(GetOf("a"), Within(absl::Hours(1))).status()));
}

// As RemoteStore does when the Job is destroyed while a thread of the program is in a call.
TEST_F(StoreDriverTest, AThreadThatPollsMayBeTheLastOwner) {
  auto answer = BeginAndPoll(driver_);
  driver_->Close(absl::CancelledError("the Job was destroyed"));
  driver_.reset();
  EXPECT_TRUE(absl::IsCancelled(answer.get().status()));
  daemon_.AwaitLeaving();
}

TEST_F(StoreDriverTest, EndsWithoutADaemonThatEndsTheStream) {
  auto answer = Begin(GetOf("a"), Within(absl::Hours(1)));
  daemon_.AcceptNext();
  AnswerNext("a", "value");
  EXPECT_TRUE(answer.get().ok());
  daemon_.IgnoreLeaving();
  driver_.reset();  // waits for a second
  daemon_.AwaitLeaving();
}

TEST_F(StoreDriverTest, ServesManyThreads) {
  constexpr int kThreads = 8;
  std::vector<std::future<absl::StatusOr<v1::StoreAnswer>>> answers;
  answers.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) answers.push_back(Begin(GetOf("a"), Within(absl::Hours(1))));
  daemon_.AcceptNext();
  for (int i = 0; i < kThreads; ++i) AnswerNext("a", "value");
  for (auto& answer : answers) EXPECT_EQ(answer.get()->value(), "value");
}

}  // namespace
}  // namespace muster::internal
