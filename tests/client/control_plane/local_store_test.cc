// Tests of the store of a job without a coordinator.
#include "client/src/control_plane/local_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Answer = absl::StatusOr<v1::StoreAnswer>;

class LocalStoreTest : public ::testing::Test {
 protected:
  Answer Call(v1::StoreOperation operation, absl::Duration timeout = absl::Hours(1),
              Cancellation* cancellation = nullptr) {
    CallOptions options;
    options.timeout = timeout;
    options.cancellation = cancellation;
    return store_->Call(std::move(operation), options);
  }
  std::future<Answer> Begin(v1::StoreOperation operation, Cancellation* cancellation = nullptr) {
    return std::async(std::launch::async, [this, operation = std::move(operation), cancellation] {
      return Call(operation, absl::Hours(1), cancellation);
    });
  }

  static v1::StoreOperation Set(const std::string& key, const std::string& value) {
    v1::StoreOperation operation;
    operation.mutable_set()->set_key(key);
    operation.mutable_set()->set_value(value);
    return operation;
  }
  static v1::StoreOperation Get(const std::string& key) {
    v1::StoreOperation operation;
    operation.mutable_get()->set_key(key);
    return operation;
  }
  static v1::StoreOperation Add(const std::string& key, int64_t amount) {
    v1::StoreOperation operation;
    operation.mutable_add()->set_key(key);
    operation.mutable_add()->set_amount(amount);
    return operation;
  }
  static v1::StoreOperation Push(const std::string& key, const std::string& value) {
    v1::StoreOperation operation;
    operation.mutable_push()->set_key(key);
    operation.mutable_push()->set_value(value);
    return operation;
  }
  static v1::StoreOperation Pop(const std::string& key) {
    v1::StoreOperation operation;
    operation.mutable_pop()->set_key(key);
    return operation;
  }
  static v1::StoreOperation Delete(const std::string& key) {
    v1::StoreOperation operation;
    operation.mutable_delete_()->set_key(key);
    return operation;
  }
  static v1::StoreOperation Barrier(const std::string& key, uint64_t count) {
    v1::StoreOperation operation;
    operation.mutable_barrier()->set_key(key);
    operation.mutable_barrier()->set_count(count);
    return operation;
  }

  std::shared_ptr<LocalStore> store_ = std::make_shared<LocalStore>("run");
};

TEST_F(LocalStoreTest, KeepsValues) {
  EXPECT_TRUE(Call(Set("a", "1")).ok());
  EXPECT_EQ(Call(Get("a"))->value(), "1");
  EXPECT_EQ(Call(Add("a", 4))->number(), 5);
  EXPECT_EQ(Call(Add("b", -2))->number(), -2);
  v1::StoreOperation append;
  append.mutable_append()->set_key("a");
  append.mutable_append()->set_value("xy");
  EXPECT_EQ(Call(append)->number(), 3);
  EXPECT_EQ(Call(Get("a"))->value(), "5xy");
  EXPECT_TRUE(Call(Delete("a"))->changed());
  EXPECT_FALSE(Call(Delete("a"))->changed());
}

TEST_F(LocalStoreTest, ComparesAndSets) {
  v1::StoreOperation change;
  change.mutable_compare_and_set()->set_key("a");
  change.mutable_compare_and_set()->set_value("1");
  EXPECT_TRUE(Call(change)->changed());
  Answer answer = Call(change);
  EXPECT_FALSE(answer->changed());
  EXPECT_EQ(answer->value(), "1");
  change.mutable_compare_and_set()->set_expected("1");
  change.mutable_compare_and_set()->set_value("2");
  EXPECT_TRUE(Call(change)->changed());
  change.mutable_compare_and_set()->set_key("absent");
  answer = Call(change);
  EXPECT_FALSE(answer->changed());
  EXPECT_FALSE(answer->has_value());
}

TEST_F(LocalStoreTest, ListsAndCountsByPrefix) {
  for (const char* key : {"a", "k/1", "k/2", "k/3", "l"}) ASSERT_TRUE(Call(Set(key, "v")).ok());
  v1::StoreOperation list;
  list.mutable_list()->set_prefix("k/");
  EXPECT_THAT(Call(list)->keys(), ElementsAre("k/1", "k/2", "k/3"));
  list.mutable_list()->set_after("k/1");
  EXPECT_THAT(Call(list)->keys(), ElementsAre("k/2", "k/3"));
  v1::StoreOperation count;
  count.mutable_count();
  EXPECT_EQ(Call(count)->number(), 5);
}

TEST_F(LocalStoreTest, WaitsForKeys) {
  v1::StoreOperation wait;
  wait.mutable_wait()->add_keys("a");
  wait.mutable_wait()->add_keys("b");
  auto waits = Begin(wait);
  auto gets = Begin(Get("b"));
  EXPECT_TRUE(Call(Set("a", "1")).ok());
  EXPECT_TRUE(Call(Set("b", "2")).ok());
  EXPECT_TRUE(waits.get().ok());
  EXPECT_EQ(gets.get()->value(), "2");
}

TEST_F(LocalStoreTest, NamesWhatWasMissing) {
  ASSERT_TRUE(Call(Set("a", "1")).ok());
  v1::StoreOperation wait;
  for (const char* key : {"a", "b", "c"}) wait.mutable_wait()->add_keys(key);
  const auto text = [&](const v1::StoreOperation& operation) {
    const absl::Status status = Call(operation, absl::Milliseconds(1)).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(text(wait),
            "job 'run': Store::Wait('a' and 2 more) timed out after 1ms; 2 of 3 keys have not been "
            "set: 'b', 'c'");
  EXPECT_THAT(text(Get("b")), HasSubstr("key 'b' has not been set"));
  EXPECT_THAT(text(Pop("q")), HasSubstr("queue 'q' has had no element to pop"));
  EXPECT_THAT(text(Barrier("m", 3)), HasSubstr("1 of 3 have arrived at barrier 'm'"));
}

TEST_F(LocalStoreTest, PopsInTheOrderOfPushes) {
  EXPECT_EQ(Call(Push("q", "1"))->number(), 1);
  EXPECT_EQ(Call(Push("q", "2"))->number(), 2);
  EXPECT_EQ(Call(Pop("q"))->value(), "1");
  v1::StoreOperation length;
  length.mutable_queue_length()->set_key("q");
  EXPECT_EQ(Call(length)->number(), 1);
  EXPECT_EQ(Call(Pop("q"))->value(), "2");
  auto pops = Begin(Pop("q"));
  EXPECT_TRUE(Call(Push("q", "3")).ok());
  EXPECT_EQ(pops.get()->value(), "3");
}

TEST_F(LocalStoreTest, GivesNoElementToAPopThatHasEnded) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(Call(Pop("q"), absl::Milliseconds(1)).status()));
  Cancellation cancellation;
  auto pops = Begin(Pop("q"), &cancellation);
  cancellation.Cancel();
  EXPECT_TRUE(absl::IsCancelled(pops.get().status()));
  EXPECT_TRUE(Call(Push("q", "1")).ok());
  EXPECT_EQ(Call(Pop("q"))->value(), "1");
}

TEST_F(LocalStoreTest, MeetsAtABarrierInRounds) {
  for (int round = 0; round < 2; ++round) {
    auto first = Begin(Barrier("m", 2));
    auto second = Begin(Barrier("m", 2));
    EXPECT_EQ(first.get()->number() + second.get()->number(), 3);
  }
  // An arrival counts for good.
  EXPECT_TRUE(absl::IsDeadlineExceeded(Call(Barrier("m", 2), absl::Milliseconds(1)).status()));
  EXPECT_EQ(Call(Barrier("m", 3)).status().message(),
            "barrier 'm' waits for 2 arrivals, not for 3");
  EXPECT_EQ(Call(Barrier("m", 2))->number(), 2);
}

TEST_F(LocalStoreTest, RefusesWhatDoesNotFitTheKey) {
  ASSERT_TRUE(Call(Set("text", "abc")).ok());
  ASSERT_TRUE(Call(Push("queue", "abc")).ok());
  EXPECT_EQ(Call(Add("text", 1)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Call(Get("")).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Call(Barrier("m", 0)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Call(Push("text", "x")).status().message(),
            "key 'text' has a value, not a queue: delete it first");
  EXPECT_EQ(Call(Get("queue")).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Call(Set("number", "9223372036854775807")).ok());
  EXPECT_EQ(Call(Add("number", 1)).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(LocalStoreTest, EndsABarrierWhoseKeyIsDeleted) {
  std::promise<void> arrived;
  const auto watch = store_->Watch("m", [&](const absl::StatusOr<v1::StoreWatchEvent>& event) {
    if (event.ok() && event->arrivals() == 1) arrived.set_value();
  });
  auto first = Begin(Barrier("m", 2));
  arrived.get_future().wait();
  EXPECT_TRUE(Call(Delete("m")).ok());
  EXPECT_EQ(first.get().status().message(), "barrier 'm' was deleted before all had arrived");
}

TEST_F(LocalStoreTest, TellsWatchesOfExistingKeysAndOfChanges) {
  ASSERT_TRUE(Call(Set("k1", "a")).ok());
  ASSERT_TRUE(Call(Set("other", "a")).ok());
  std::vector<std::string> events;
  std::promise<void> done;
  const auto watch = store_->Watch("k", [&](const absl::StatusOr<v1::StoreWatchEvent>& event) {
    if (!event.ok()) {
      events.push_back(event.status().ToString());
      done.set_value();
    } else {
      events.push_back(absl::StrCat(event->key(), event->deleted() ? "-" : "=", event->value()));
    }
  });
  ASSERT_TRUE(Call(Set("k2", "b")).ok());
  ASSERT_TRUE(Call(Set("other", "b")).ok());
  ASSERT_TRUE(Call(Delete("k1")).ok());
  store_->Close(absl::CancelledError("the Job was destroyed"));
  done.get_future().wait();
  EXPECT_THAT(events, ElementsAre("k1=a", "k2=b", "k1-", "CANCELLED: the Job was destroyed"));
}

// As the Job does, whose destructor closes the store right before it destroys it.
TEST_F(LocalStoreTest, TellsWatchesOfTheEndBeforeItIsDestroyed) {
  std::vector<absl::StatusCode> ends;
  const auto watch = store_->Watch("k", [&](const absl::StatusOr<v1::StoreWatchEvent>& event) {
    ends.push_back(event.status().code());
  });
  store_->Close(absl::CancelledError("the Job was destroyed"));
  store_.reset();
  EXPECT_THAT(ends, ElementsAre(absl::StatusCode::kCancelled));
}

TEST_F(LocalStoreTest, EndsOperationsWhenItIsClosed) {
  auto gets = Begin(Get("a"));
  store_->Close(absl::CancelledError("the Job was destroyed"));
  EXPECT_TRUE(absl::IsCancelled(gets.get().status()));
  EXPECT_TRUE(absl::IsCancelled(Call(Set("a", "1")).status()));
}

}  // namespace
}  // namespace muster::internal
