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

#include "tests/client/control_plane/fake_store_transport.h"

namespace muster::internal {
namespace {

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

  // Answers the client's next operation, which must have this key.
  void AnswerNext(const std::string& key, const std::string& value) {
    const v1::StoreRequest request = daemon_.Next();
    EXPECT_EQ(request.operation().get().key(), key);
    v1::StoreResponse response;
    response.mutable_answer()->set_operation(request.operation().id());
    response.mutable_answer()->set_value(value);
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

TEST_F(StoreDriverTest, LeavesAndEndsOperationsWhenItIsClosed) {
  auto answer = Begin(PopOf("a"), Within(absl::Hours(1)));
  daemon_.AcceptNext();
  daemon_.Next();
  driver_->Close(absl::CancelledError("the Job was destroyed"));
  EXPECT_TRUE(absl::IsCancelled(answer.get().status()));
  daemon_.AwaitLeaving();
  EXPECT_TRUE(absl::IsCancelled(driver_->Call(GetOf("a"), Within(absl::Hours(1))).status()));
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
