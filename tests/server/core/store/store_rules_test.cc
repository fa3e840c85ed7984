#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/store/store_harness.h"

// The rules of docs/store.md, one by one. random_store_test.cc tries them in random schedules.
namespace muster::core::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Bytes Value(const std::string& text) { return StoreHarness::Value(text); }
constexpr StoreVersion kFirst{1, 1};

TEST(StoreRulesTest, ANewDaemonWaitsWhileItIsYoung) {
  Options options;
  options.young_until = absl::UnixEpoch() + absl::Hours(1) + absl::Seconds(2);
  StoreHarness store(options);
  store.Open('a');
  const uint64_t id = store.Start('a', StoreSet{"k", Value("v")});
  EXPECT_EQ(store.Answer('a', id), "");
  store.Pass(absl::Seconds(2));
  EXPECT_EQ(store.Answer('a', id), "changed");
}

TEST(StoreRulesTest, ANewDaemonAnswersWhenAllRanksHaveNeverBeenServed) {
  Options options;
  options.young_until = absl::InfiniteFuture();
  options.world_size = 2;
  StoreHarness store(options);
  StoreOpen open;
  open.rank = 0;
  store.Open('a', open);
  EXPECT_FALSE(store.store().context().serving);
  open.rank = 1;
  store.Open('b', open);
  EXPECT_TRUE(store.store().context().serving);
}

TEST(StoreRulesTest, AnAnswerToAChangeFollowsItsEntry) {
  StoreHarness store;
  store.OpenAll("a");
  store.Start('a', StoreSet{"k", Value("v")});
  ASSERT_EQ(store.inbox('a').size(), 2u);
  const auto& hold = std::get<StoreHold>(store.inbox('a')[0]);
  EXPECT_EQ(hold.key, "k");
  EXPECT_TRUE(hold.version == kFirst);
  EXPECT_EQ(hold.value_of_operation, 1u);
  EXPECT_TRUE(std::holds_alternative<StoreAnswer>(store.inbox('a')[1]));
}

TEST(StoreRulesTest, AReadWaitsUntilAHolderHasConfirmedTheChange) {
  StoreHarness store;
  store.OpenAll("abc");
  store.Start('a', StoreSet{"k", Value("v")});
  const Client* const copy = store.slot("k")->copy;
  const char reader = copy->id[0] == 'b' ? 'c' : 'b';
  const uint64_t get = store.Start(reader, StoreGet{"k"});
  EXPECT_EQ(store.Answer(reader, get), "");
  store.Confirm(copy->id[0]);
  EXPECT_EQ(store.Answer(reader, get), "v");
}

TEST(StoreRulesTest, AnswersWaitForTheCopyIfTheyAreToldTo) {
  Options options;
  options.answers_wait_for_copy = true;
  StoreHarness store(options);
  store.OpenAll("ab");
  const uint64_t set = store.Start('a', StoreSet{"k", Value("v")});
  store.Confirm('a');
  EXPECT_EQ(store.Answer('a', set), "");
  store.Confirm('b');
  EXPECT_EQ(store.Answer('a', set), "changed");
}

TEST(StoreRulesTest, APushTravelsAsAChangeAndLeavesTheKeeper) {
  StoreHarness store;
  store.OpenAll("ab");
  store.Start('a', StorePush{"q", Value("1")});
  store.ConfirmAll();
  store.Take<StoreHold>('a');
  store.Start('b', StorePush{"q", Value("2")});
  EXPECT_EQ(store.slot("q")->keeper->id, StoreHarness::IdOf('a'));
  const std::vector<StoreHold> holds = store.Take<StoreHold>('a');
  ASSERT_EQ(holds.size(), 1u);
  const auto& change = *std::get<std::shared_ptr<const StoreChange>>(holds[0].content);
  EXPECT_EQ(change.base_revision, 1u);
  EXPECT_EQ(*std::get<StoreChange::Pushed>(change.what).element, "2");
  ASSERT_EQ(change.acknowledged.size(), 1u);
  EXPECT_EQ(change.acknowledged[0].client, StoreHarness::IdOf('a'));
}

TEST(StoreRulesTest, OldHoldersDropOnceBothHoldersHaveTheEntryAndAreHere) {
  StoreHarness store;
  store.OpenAll("abc");
  store.Start('a', StoreSet{"k", Value("1")});
  store.ConfirmAll();
  const char copy = store.slot("k")->copy->id[0];
  const char other = copy == 'b' ? 'c' : 'b';
  store.Start(other, StoreSet{"k", Value("2")});
  store.Confirm(other);
  EXPECT_TRUE(store.Take<StoreDrop>('a').empty()) << "the copy is not confirmed";
  store.Close(other);
  store.Confirm(copy);
  EXPECT_TRUE(store.Take<StoreDrop>('a').empty()) << "the keeper is not here";
  store.Reopen(other, "abc", {{"k", {2, 1}}}, 2);
  ASSERT_EQ(store.Take<StoreDrop>('a').size(), 1u);
}

TEST(StoreRulesTest, TheCopysHolderKeepsTheEntriesOfALostClient) {
  StoreHarness store;
  store.OpenAll("abc");
  store.Start('a', StoreSet{"k", Value("v")});
  store.ConfirmAll();
  const Client* const copy = store.slot("k")->copy;
  store.Close('a');
  store.Pass(absl::Seconds(2));
  EXPECT_EQ(store.slot("k")->keeper, copy);
  store.ConfirmAll();
  ASSERT_NE(store.slot("k")->copy, nullptr);
  EXPECT_NE(store.slot("k")->copy, copy);
}

TEST(StoreRulesTest, ACopyGoesToAnotherNode) {
  StoreHarness store;
  StoreOpen open;
  open.node = "n0";
  for (const char client : {'a', 'b', 'c'}) store.Open(client, open);
  open.node = "n1";
  store.Open('d', open);
  store.ConfirmAll();
  for (const char* key : {"k1", "k2", "k3"}) {
    store.Start('a', StoreSet{key, Value("")});
    EXPECT_EQ(store.slot(key)->copy->id, StoreHarness::IdOf('d'));
  }
}

TEST(StoreRulesTest, ATombstoneStaysWhileADetachedClientMayHoldAnOlderRevision) {
  StoreHarness store;
  store.OpenAll("abcd");
  store.Start('a', StoreSet{"k", Value("v")});
  store.ConfirmAll();
  const char copy = store.slot("k")->copy->id[0];
  const char other = copy == 'd' ? 'c' : 'd';
  store.Close('a');
  store.Start(other, StoreDelete{"k"});
  store.ConfirmAll();
  EXPECT_NE(store.slot("k"), nullptr);
  store.Pass(absl::Seconds(2));
  store.ConfirmAll();
  EXPECT_EQ(store.slot("k"), nullptr);
}

TEST(StoreRulesTest, ANewClientIsServedOnceAllOthersKnowIt) {
  StoreHarness store;
  store.OpenAll("ab");
  store.Open('c');
  const uint64_t id = store.Start('c', StoreCount{""});
  store.Confirm('c');
  store.Confirm('a');
  EXPECT_EQ(store.Answer('c', id), "");
  const std::vector<StoreClients> news = store.Take<StoreClients>('b');
  ASSERT_EQ(news.size(), 1u);
  EXPECT_THAT(news[0].joined, ElementsAre(StoreHarness::IdOf('c')));
  store.Confirm('b');
  EXPECT_EQ(store.Answer('c', id), "0");
}

TEST(StoreRulesTest, NewsAreSentTogetherAndPrecedeEveryOtherMessage) {
  StoreHarness store;
  store.OpenAll("a");
  store.Open('b');
  store.Open('c');
  store.Open('d');
  EXPECT_EQ(store.Take<StoreClients>('a').size(), 1u) << "c and d wait until b is confirmed";
  store.Start('a', StoreSet{"k", Value("")});
  EXPECT_THAT(std::get<StoreClients>(store.inbox('a').front()).joined,
              ElementsAre(StoreHarness::IdOf('c'), StoreHarness::IdOf('d')));
}

TEST(StoreRulesTest, ARestartedDaemonWaitsForTheListAndFetchesTheHighestRevision) {
  StoreHarness store;
  store.Restart();
  store.Reopen('a', "abc", {{"k", {3, 1}}}, 5);
  store.Reopen('b', "abc", {{"k", {4, 1}}}, 4);
  const uint64_t get = store.Start('a', StoreGet{"k"});
  EXPECT_TRUE(store.Take<StoreFetch>('b').empty()) << "c is missing";
  store.Reopen('c', "abc", {});
  ASSERT_EQ(store.Take<StoreFetch>('b').size(), 1u);
  EXPECT_TRUE(store.Take<StoreFetch>('a').empty());
  store.Send('b', StoreRequest{StoreEntries{{{"k", {4, 1}, {Value("new"), {}}}}}});
  store.ConfirmAll();
  EXPECT_EQ(store.Answer('a', get), "new");
  store.Start('a', StoreSet{"l", Value("")});
  EXPECT_EQ(store.slot("l")->version.revision, 6u) << "above every revision that was seen";
}

TEST(StoreRulesTest, TheRecoveryGraceEndsTheWaitForClients) {
  StoreHarness store;
  store.Restart();
  store.Reopen('a', "ab", {});
  store.Pass(absl::Seconds(59));
  EXPECT_FALSE(store.store().context().serving);
  store.Pass(absl::Seconds(1));
  EXPECT_TRUE(store.store().context().serving);
  store.Reopen('b', "ab", {{"k", {4, 1}}});
  EXPECT_THAT(store.End('b')->ToString(), StartsWith("ABORTED: the client counts as lost"));
}

TEST(StoreRulesTest, AnEndedProcessIsNotWaitedFor) {
  StoreHarness store;
  store.Restart();
  store.Reopen('a', "ab", {});
  EXPECT_FALSE(store.store().context().serving);
  const_cast<Store&>(store.store()).NoteEnded(StoreHarness::IdOf('b'), "killed by signal 9");
  store.Pass(absl::ZeroDuration());
  EXPECT_TRUE(store.store().context().serving);
}

TEST(StoreRulesTest, AClientThatNoListNamesIsAborted) {
  StoreHarness store;
  store.Restart();
  store.Reopen('a', "a", {});
  store.Reopen('b', "ab", {{"k", {4, 1}}});
  EXPECT_THAT(store.End('b')->ToString(), HasSubstr("came back too late"));
}

TEST(StoreRulesTest, TheNextClaimantIsAskedIfOneDoesNotSendItsEntry) {
  StoreHarness store;
  store.Restart();
  store.Reopen('a', "ab", {{"k", {4, 1}}});
  store.Reopen('b', "ab", {{"k", {4, 1}}});
  ASSERT_EQ(store.Take<StoreFetch>('a').size(), 1u);
  store.Pass(absl::Seconds(10));
  EXPECT_EQ(store.End('a')->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store.Take<StoreFetch>('b').size(), 1u);
}

TEST(StoreRulesTest, AClaimantThatHasLostItsEntryIsPassedOver) {
  StoreHarness store;
  store.Restart();
  store.Reopen('a', "ab", {{"k", {4, 1}}});
  store.Reopen('b', "ab", {{"k", {3, 1}}});
  store.Send('a', StoreRequest{StoreEntries{{{"k", {}, {}}}}});
  EXPECT_EQ(store.Take<StoreFetch>('b').size(), 1u);
}

TEST(StoreRulesTest, ARepeatedOperationGetsItsFirstResult) {
  StoreHarness store;
  store.OpenAll("ab");
  store.Start('a', StoreAdd{"n", 1});
  const StoreHold hold = store.Take<StoreHold>('a').at(0);
  const StoreEntry entry = **std::get_if<std::shared_ptr<const StoreEntry>>(&hold.content);
  store.Restart();
  StoreOpen open;
  open.was_served = true;
  open.unanswered = {1};
  StoreClaim claim;
  claim.joined = {StoreHarness::IdOf('b')};
  claim.entries = {{"n", hold.version}};
  store.Open('a', open, claim);
  store.Reopen('b', "a", {});
  store.Send('a', StoreRequest{StoreEntries{{{"n", hold.version, entry}}}});
  store.Send('a', StoreRequest{StoreOperation{1, {}, StoreAdd{"n", 1}}});
  store.ConfirmAll();
  EXPECT_EQ(store.Answer('a', 1), "1");
  EXPECT_EQ(store.slot("n")->version.revision, 1u);
}

TEST(StoreRulesTest, ALaterStreamReplacesAnOlderOne) {
  StoreHarness store;
  store.OpenAll("a");
  const uint64_t get = store.Start('a', StoreGet{"k"});
  StoreOpen late;
  late.attempt = 7;
  store.Open('a', late);
  late.attempt = 6;
  store.Open('a', late);
  EXPECT_EQ(store.End('a')->code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(store.store().operations().all().empty()) << "operation " << get;
}

TEST(StoreRulesTest, AClientThatLeavesIsLostAtOnce) {
  StoreHarness store;
  store.OpenAll("ab");
  store.Start('a', StoreSet{"k", Value("v")});
  store.ConfirmAll();
  store.Leave('a');
  EXPECT_TRUE(store.End('a')->ok());
  EXPECT_EQ(store.slot("k")->keeper->id, StoreHarness::IdOf('b'));
}

TEST(StoreRulesTest, MalformedStreamsAreRefused) {
  StoreHarness store;
  store.OpenAll("a");
  store.Send('a', StoreRequest{StoreConfirm{99}});
  EXPECT_EQ(store.End('a')->code(), absl::StatusCode::kInvalidArgument);
  StoreClaim claim;
  claim.entries = {{"k", {1, 1}}};
  store.Open('b', {}, claim);
  EXPECT_THAT(store.End('b')->ToString(), HasSubstr("never served claims entries"));
}

TEST(StoreWatchTest, AWatchGetsWhatExistsThenWhatChangesInOrder) {
  StoreHarness store;
  store.OpenAll("ab");
  store.Start('a', StoreSet{"p/1", Value("x")});
  store.ConfirmAll();
  store.Start('b', StoreWatch{"p/", 0});
  EXPECT_EQ(store.Take<StoreWatchEvent>('b').at(0).key, "p/1");
  EXPECT_THAT(store.Take<StoreWatchSynced>('b').at(0).keys, ElementsAre("p/1"));
  store.Start('a', StoreSet{"p/2", Value("y")});
  store.Start('a', StoreDelete{"p/1"});
  store.Start('a', StoreSet{"q", Value("z")});
  EXPECT_TRUE(store.Take<StoreWatchEvent>('b').empty()) << "no holder has confirmed the changes";
  store.ConfirmAll();
  const std::vector<StoreWatchEvent> events = store.Take<StoreWatchEvent>('b');
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].key, "p/2");
  EXPECT_EQ(events[1].key, "p/1");
  EXPECT_TRUE(std::holds_alternative<StoreTombstone>(events[1].state));
}

TEST(StoreWatchTest, AWatchWithoutARevisionGetsOnlyLaterChanges) {
  StoreHarness store;
  store.OpenAll("ab");
  store.Start('a', StoreSet{"k", Value("x")});
  store.ConfirmAll();
  const uint64_t watch = store.Start('b', StoreWatch{"", std::nullopt});
  EXPECT_EQ(store.Take<StoreWatchSynced>('b').at(0).revision, 1u);
  EXPECT_TRUE(store.Take<StoreWatchEvent>('b').empty());
  store.Cancel('b', watch);
  EXPECT_THAT(store.Answer('b', watch), StartsWith("CANCELLED"));
}

}  // namespace
}  // namespace muster::core::store
