// Tests of what a client of the store holds for the daemon.
#include "client/src/protocol/store/held_entries.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::internal {
namespace {

v1::StoreHold Hold(const std::string& key, uint64_t revision) {
  v1::StoreHold hold;
  hold.set_key(key);
  hold.set_revision(revision);
  hold.set_daemon_instance(7);
  return hold;
}

v1::StoreHold ValueOf(const std::string& key, uint64_t revision, const std::string& value) {
  v1::StoreHold hold = Hold(key, revision);
  hold.mutable_entry()->set_value(value);
  return hold;
}

v1::StoreHold ChangeOf(const std::string& key, uint64_t base, uint64_t revision) {
  v1::StoreHold hold = Hold(key, revision);
  hold.mutable_change()->set_base_revision(base);
  return hold;
}

const v1::StoreEntry& EntryOf(const HeldEntries& held, const std::string& key) {
  return held.entries().at(key).entry;
}

TEST(HeldEntriesTest, HoldsTheLatestRevision) {
  HeldEntries held;
  EXPECT_TRUE(held.Take(ValueOf("a", 5, "later")));
  EXPECT_TRUE(held.Take(ValueOf("a", 4, "earlier")));
  EXPECT_EQ(EntryOf(held, "a").value(), "later");
  EXPECT_EQ(held.entries().at("a").revision, 5);
  EXPECT_EQ(held.entries().at("a").daemon_instance, 7);
  EXPECT_EQ(held.highest_revision(), 5);
}

TEST(HeldEntriesTest, DropsNoLaterRevision) {
  HeldEntries held;
  ASSERT_TRUE(held.Take(ValueOf("a", 5, "value")));
  v1::StoreDrop drop;
  drop.set_key("a");
  drop.set_revision(4);
  held.Take(drop);
  EXPECT_EQ(held.entries().count("a"), 1);
  drop.set_revision(6);
  held.Take(drop);
  EXPECT_EQ(held.entries().count("a"), 0);
  EXPECT_EQ(held.highest_revision(), 6);  // K1: a deleted key's revision counts, too
}

TEST(HeldEntriesTest, AppliesChanges) {
  HeldEntries held;
  ASSERT_TRUE(held.Take(ValueOf("text", 1, "ab")));
  v1::StoreHold append = ChangeOf("text", 1, 2);
  append.mutable_change()->set_appended("cd");
  EXPECT_TRUE(held.Take(append));
  EXPECT_EQ(EntryOf(held, "text").value(), "abcd");

  v1::StoreHold queue = Hold("queue", 3);
  queue.mutable_entry()->mutable_queue();
  ASSERT_TRUE(held.Take(queue));
  for (uint64_t revision = 4; revision < 6; ++revision) {
    v1::StoreHold push = ChangeOf("queue", revision - 1, revision);
    push.mutable_change()->set_pushed(std::to_string(revision));
    EXPECT_TRUE(held.Take(push));
  }
  v1::StoreHold pop = ChangeOf("queue", 5, 6);
  pop.mutable_change()->set_popped(true);
  EXPECT_TRUE(held.Take(pop));
  ASSERT_EQ(EntryOf(held, "queue").queue().elements_size(), 1);
  EXPECT_EQ(EntryOf(held, "queue").queue().elements(0), "5");

  v1::StoreHold barrier = Hold("barrier", 7);
  barrier.mutable_entry()->mutable_arrivals()->set_arrived(1);
  ASSERT_TRUE(held.Take(barrier));
  v1::StoreHold arrive = ChangeOf("barrier", 7, 8);
  arrive.mutable_change()->mutable_arrivals()->set_arrived(2);
  EXPECT_TRUE(held.Take(arrive));
  EXPECT_EQ(EntryOf(held, "barrier").arrivals().arrived(), 2);
}

TEST(HeldEntriesTest, KeepsResultsUntilTheyAreAcknowledged) {
  HeldEntries held;
  v1::StoreHold whole = ValueOf("a", 1, "x");
  for (uint64_t operation = 1; operation <= 2; ++operation) {
    v1::StoreResult& result = *whole.mutable_entry()->add_results();
    result.set_client("one");
    result.set_operation(operation);
  }
  ASSERT_TRUE(held.Take(whole));
  v1::StoreHold append = ChangeOf("a", 1, 2);
  append.mutable_change()->set_appended("y");
  append.mutable_change()->mutable_result()->set_client("two");
  append.mutable_change()->mutable_result()->set_operation(1);
  v1::StoreResult& acknowledged = *append.mutable_change()->add_acknowledged();
  acknowledged.set_client("one");
  acknowledged.set_operation(1);
  ASSERT_TRUE(held.Take(append));
  ASSERT_EQ(EntryOf(held, "a").results_size(), 2);
  EXPECT_EQ(EntryOf(held, "a").results(0).client(), "one");
  EXPECT_EQ(EntryOf(held, "a").results(0).operation(), 2);
  EXPECT_EQ(EntryOf(held, "a").results(1).client(), "two");
}

TEST(HeldEntriesTest, RejectsChangesOfWhatItDoesNotHold) {
  HeldEntries held;
  v1::StoreHold push = ChangeOf("a", 1, 2);
  push.mutable_change()->set_pushed("element");
  EXPECT_FALSE(held.Take(push));
  ASSERT_TRUE(held.Take(ValueOf("a", 1, "x")));
  EXPECT_FALSE(held.Take(push));  // it is no queue
  v1::StoreHold append = ChangeOf("a", 2, 3);
  append.mutable_change()->set_appended("y");
  EXPECT_FALSE(held.Take(append));  // it is of another revision
  EXPECT_EQ(EntryOf(held, "a").value(), "x");
  EXPECT_EQ(held.entries().at("a").revision, 1);
}

TEST(HeldEntriesTest, ClaimsInPartsOfWhichTheLastIsMarked) {
  HeldEntries held;
  EXPECT_EQ(held.Claim().size(), 1);
  EXPECT_TRUE(held.Claim().front().last());
  constexpr int kKeys = 1000;
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(held.Take(ValueOf(std::to_string(i) + std::string(1000, 'k'), i + 1, "v")));
  }
  const std::vector<v1::StoreClaim> claim = held.Claim();
  EXPECT_GT(claim.size(), 2);
  int entries = 0;
  for (const v1::StoreClaim& part : claim) {
    EXPECT_LT(part.ByteSizeLong(), 300 << 10);
    EXPECT_EQ(part.last(), &part == &claim.back());
    entries += part.entries_size();
  }
  EXPECT_EQ(entries, kKeys);
}

TEST(HeldEntriesTest, SendsFetchedEntriesInMessagesOfAboutAMebibyte) {
  HeldEntries held;
  v1::StoreFetch fetch;
  fetch.add_keys("absent");
  for (int i = 0; i < 8; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_TRUE(held.Take(ValueOf(key, i + 1, std::string(i == 3 ? 3 << 20 : 400 << 10, 'v'))));
    fetch.add_keys(key);
  }
  const std::vector<v1::StoreEntries> messages = held.Fetch(fetch);
  EXPECT_GT(messages.size(), 3);
  std::vector<v1::FetchedStoreEntry> all;
  for (const v1::StoreEntries& message : messages) {
    EXPECT_TRUE(message.entries_size() == 1 || message.ByteSizeLong() < 1100 << 10);
    all.insert(all.end(), message.entries().begin(), message.entries().end());
  }
  ASSERT_EQ(all.size(), 9);
  EXPECT_EQ(all[0].key(), "absent");
  EXPECT_EQ(all[0].revision(), 0);
  EXPECT_EQ(all[4].key(), "3");
  EXPECT_EQ(all[4].revision(), 4);
  EXPECT_EQ(all[4].daemon_instance(), 7);
  EXPECT_EQ(all[4].entry().value().size(), 3 << 20);
  EXPECT_EQ(held.entries().size(), 8);  // K14
}

}  // namespace
}  // namespace muster::internal
