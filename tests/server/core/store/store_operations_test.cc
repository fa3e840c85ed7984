#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/store/store_harness.h"

// Each operation: its answer, its wait, and its errors.
namespace muster::core::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class StoreOperationsTest : public ::testing::Test {
 protected:
  StoreOperationsTest() { store_.OpenAll("ab"); }

  static Bytes Value(const std::string& text) { return StoreHarness::Value(text); }
  // Runs an operation of a client, lets all confirm, and returns the answer.
  template <class What>
  std::string Do(char client, What what, std::optional<absl::Duration> timeout = {}) {
    const uint64_t id = store_.Start(client, std::move(what), timeout);
    store_.ConfirmAll();
    return store_.Answer(client, id);
  }

  StoreHarness store_;
};

TEST_F(StoreOperationsTest, TheFirstClientOfAJobIsAnsweredAtOnce) {
  StoreHarness store;
  store.Open('a');
  const uint64_t id = store.Start('a', StoreSet{"k", Value("v")});
  EXPECT_EQ(store.Answer('a', id), "changed");
}

TEST_F(StoreOperationsTest, AGetReturnsTheValueAndWaitsForIt) {
  const uint64_t get = store_.Start('b', StoreGet{"k"});
  EXPECT_EQ(store_.Answer('b', get), "");
  EXPECT_EQ(Do('a', StoreSet{"k", Value("v")}), "changed");
  EXPECT_EQ(store_.Answer('b', get), "v");
}

TEST_F(StoreOperationsTest, AGetThatTimesOutNamesTheKey) {
  const uint64_t get = store_.Start('b', StoreGet{"k"}, absl::Seconds(5));
  EXPECT_EQ(store_.store().NextDeadline(), store_.store().context().now + absl::Seconds(5));
  store_.Pass(absl::Seconds(5));
  EXPECT_EQ(store_.Answer('b', get), "DEADLINE_EXCEEDED: key 'k' has not been set for 5s");
  EXPECT_THAT(Do('b', StoreGet{"k"}, absl::ZeroDuration()), StartsWith("DEADLINE_EXCEEDED"));
}

TEST_F(StoreOperationsTest, AWaitNeedsAllKeysAndNamesTheMissingOnes) {
  Do('a', StoreSet{"k1", Value("")});
  const uint64_t wait = store_.Start('b', StoreWait{{"k1", "k2", "k3"}}, absl::Seconds(5));
  Do('a', StorePush{"k3", Value("")});
  const uint64_t other = store_.Start('b', StoreWait{{"k1", "k3"}});
  EXPECT_EQ(store_.Answer('b', other), "OK");
  store_.Pass(absl::Seconds(5));
  EXPECT_THAT(store_.Answer('b', wait), HasSubstr("1 of 3 keys have not been set: 'k2'"));
}

TEST_F(StoreOperationsTest, AddCountsFromZeroAndRefusesTextAndOverflow) {
  EXPECT_EQ(Do('a', StoreAdd{"n", 5}), "5");
  EXPECT_EQ(Do('b', StoreAdd{"n", -7}), "-2");
  Do('a', StoreSet{"t", Value("text")});
  EXPECT_THAT(Do('a', StoreAdd{"t", 1}), StartsWith("INVALID_ARGUMENT: the value of key 't'"));
  Do('a', StoreSet{"n", Value("9223372036854775807")});
  EXPECT_THAT(Do('a', StoreAdd{"n", 1}), StartsWith("OUT_OF_RANGE"));
}

TEST_F(StoreOperationsTest, CompareAndSetChangesOnlyTheExpectedValue) {
  EXPECT_EQ(Do('a', StoreCompareAndSet{"k", std::nullopt, Value("1")}), "changed");
  EXPECT_EQ(Do('b', StoreCompareAndSet{"k", std::nullopt, Value("2")}), "1");
  EXPECT_EQ(Do('b', StoreCompareAndSet{"k", "1", Value("2")}), "changed");
  EXPECT_EQ(Do('b', StoreCompareAndSet{"other", "1", Value("2")}), "OK");
}

TEST_F(StoreOperationsTest, AppendReturnsTheLength) {
  EXPECT_EQ(Do('a', StoreAppend{"k", Value("ab")}), "2");
  EXPECT_EQ(Do('b', StoreAppend{"k", Value("c")}), "3");
  EXPECT_EQ(Do('a', StoreGet{"k"}), "abc");
}

TEST_F(StoreOperationsTest, DeleteSaysWhetherThereWasAKey) {
  EXPECT_EQ(Do('a', StoreDelete{"k"}), "OK");
  Do('a', StoreSet{"k", Value("v")});
  EXPECT_EQ(Do('b', StoreDelete{"k"}), "changed");
  EXPECT_EQ(store_.slot("k"), nullptr) << "the tombstone is forgotten";
  EXPECT_EQ(store_.budget()->held(), 0u);
}

TEST_F(StoreOperationsTest, ListsAndCountsByPrefix) {
  for (const char* key : {"a/1", "a/2", "b/1"}) Do('a', StoreSet{key, Value("")});
  store_.Start('b', StoreList{"a/", ""});
  store_.Start('b', StoreList{"", "a/1"});
  const std::vector<StoreAnswer> answers = store_.Take<StoreAnswer>('b');
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_THAT(answers[0].keys, ElementsAre("a/1", "a/2"));
  EXPECT_THAT(answers[1].keys, ElementsAre("a/2", "b/1"));
  EXPECT_EQ(Do('b', StoreCount{"a/"}), "2");
}

TEST_F(StoreOperationsTest, PopsGetElementsInTheOrderInWhichTheyCame) {
  const uint64_t first = store_.Start('a', StorePop{"q"});
  const uint64_t second = store_.Start('b', StorePop{"q"});
  EXPECT_EQ(Do('a', StorePush{"q", Value("1")}), "1");
  EXPECT_EQ(store_.Answer('a', first), "1");
  EXPECT_EQ(Do('b', StorePush{"q", Value("2")}), "1");
  EXPECT_EQ(store_.Answer('b', second), "2");
  EXPECT_EQ(Do('b', StoreQueueLength{"q"}), "0");
}

// A daemon that recovers holds every operation until it may serve it.
TEST_F(StoreOperationsTest, UnservedOperationsAreChargedForTheirKeys) {
  store_.Restart();
  store_.Reopen('a', "ab", {});
  const std::string key(1000, 'k');
  const auto charge_of = [&](auto what) {
    const uint64_t before = store_.budget()->held();
    store_.Start('a', std::move(what));
    return store_.budget()->held() - before;
  };
  EXPECT_EQ(charge_of(StoreGet{key}), key.size());
  EXPECT_EQ(charge_of(StoreAdd{key, 1}), key.size());
  EXPECT_EQ(charge_of(StoreDelete{key}), key.size());
  EXPECT_EQ(charge_of(StorePop{key}), key.size());
  EXPECT_EQ(charge_of(StoreQueueLength{key}), key.size());
  EXPECT_EQ(charge_of(StoreBarrier{key, 2}), key.size());
  EXPECT_EQ(charge_of(StoreList{key, key}), 2 * key.size());
  EXPECT_EQ(charge_of(StoreCount{key}), key.size());
  EXPECT_EQ(charge_of(StoreWatch{key, {}}), key.size());
  store_.Close('a');
  EXPECT_EQ(store_.budget()->held(), 0u) << "the operations of an ended stream are forgotten";
}

TEST_F(StoreOperationsTest, BarriersComeInRounds) {
  const uint64_t first = store_.Start('a', StoreBarrier{"b", 2});
  EXPECT_EQ(store_.Answer('a', first), "");
  EXPECT_EQ(Do('b', StoreBarrier{"b", 2}), "2");
  EXPECT_EQ(store_.Answer('a', first), "1");
  const uint64_t later = store_.Start('b', StoreBarrier{"b", 3}, absl::Seconds(1));
  EXPECT_THAT(Do('a', StoreBarrier{"b", 2}), StartsWith("FAILED_PRECONDITION: barrier 'b'"));
  store_.Pass(absl::Seconds(1));
  EXPECT_THAT(store_.Answer('b', later), HasSubstr("1 of 3 have arrived at barrier 'b'"));
}

TEST_F(StoreOperationsTest, ADeletedBarrierEndsItsWaits) {
  const uint64_t waits = store_.Start('a', StoreBarrier{"b", 2});
  Do('b', StoreDelete{"b"});
  EXPECT_THAT(store_.Answer('a', waits), HasSubstr("was deleted before all had arrived"));
}

TEST_F(StoreOperationsTest, AKeyHasOneKind) {
  Do('a', StorePush{"q", Value("1")});
  EXPECT_THAT(Do('b', StoreSet{"q", Value("")}),
              StartsWith("FAILED_PRECONDITION: key 'q' has a queue, not a value"));
  EXPECT_THAT(Do('b', StoreGet{"q"}), StartsWith("FAILED_PRECONDITION"));
  EXPECT_THAT(Do('b', StoreBarrier{"q", 1}), StartsWith("FAILED_PRECONDITION"));
}

TEST_F(StoreOperationsTest, ACancelledOperationIsAnsweredOnce) {
  const uint64_t pop = store_.Start('a', StorePop{"q"});
  store_.Cancel('a', pop);
  EXPECT_THAT(store_.Answer('a', pop), StartsWith("CANCELLED"));
  store_.Cancel('a', pop);
  EXPECT_EQ(store_.Answer('a', pop), "");
  EXPECT_EQ(Do('b', StorePush{"q", Value("1")}), "1");
}

TEST_F(StoreOperationsTest, IdsAscendOnAStream) {
  store_.Start('a', StoreCount{""});
  store_.Send('a', StoreRequest{StoreOperation{1, {}, StoreCount{""}}});
  EXPECT_EQ(store_.End('a')->code(), absl::StatusCode::kInvalidArgument);
}

TEST(StoreLimitsTest, ErrorsNameTheLimitTheFlagAndTheKey) {
  Options options;
  options.max_key_bytes = 4;
  options.max_value_bytes = 3;
  options.max_keys = 1;
  options.max_operations = 1;
  StoreHarness store(options);
  store.OpenAll("a");
  const auto answer = [&](auto what) {
    const uint64_t id = store.Start('a', std::move(what));
    store.ConfirmAll();
    return store.Answer('a', id);
  };
  EXPECT_THAT(answer(StoreGet{"long1"}), HasSubstr("(musterd --max-store-key-bytes raises it)"));
  EXPECT_THAT(answer(StoreGet{""}), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(answer(StoreSet{"k", StoreHarness::Value("1234")}),
              HasSubstr("--max-store-value-bytes"));
  EXPECT_EQ(answer(StoreSet{"k", StoreHarness::Value("123")}), "changed");
  EXPECT_THAT(answer(StoreAppend{"k", StoreHarness::Value("4")}),
              HasSubstr("'k' would have 4 bytes"));
  EXPECT_THAT(answer(StoreSet{"l", StoreHarness::Value("")}), HasSubstr("--max-store-keys"));
  EXPECT_EQ(answer(StoreGet{"l"}), "") << "one operation may wait";
  EXPECT_THAT(answer(StoreGet{"l"}), HasSubstr("--max-waiters-per-member"));
}

TEST(StoreLimitsTest, TheStoreKeepsWithinTheBytesThatTheDaemonMayHold) {
  StoreHarness store;
  store.OpenAll("a");
  const Bytes half = StoreHarness::Value(std::string(512 << 10, 'x'));
  store.Start('a', StoreSet{"k", half});
  const uint64_t id = store.Start('a', StoreSet{"l", half});
  EXPECT_THAT(store.Answer('a', id), HasSubstr("key 'l': the coordinator holds"));
}

}  // namespace
}  // namespace muster::core::store
