// Tests of the watches of one client of the store.
#include "client/src/protocol/store/store_watches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/protocol/store/store_machine.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;

v1::StoreResponse EventOf(const std::string& key, uint64_t revision, const std::string& value) {
  v1::StoreResponse message;
  message.mutable_event()->set_watch(1);
  message.mutable_event()->set_key(key);
  message.mutable_event()->set_revision(revision);
  message.mutable_event()->set_value(value);
  return message;
}

v1::StoreResponse DeletionOf(const std::string& key, uint64_t revision) {
  v1::StoreResponse message = EventOf(key, revision, "");
  message.mutable_event()->set_deleted(true);
  return message;
}

v1::StoreResponse SyncedAt(uint64_t revision, const std::vector<std::string>& keys,
                           bool more = false) {
  v1::StoreResponse message;
  message.mutable_synced()->set_watch(1);
  message.mutable_synced()->set_revision(revision);
  for (const std::string& key : keys) message.mutable_synced()->add_keys(key);
  message.mutable_synced()->set_more(more);
  return message;
}

// Returns the events as "key=value@revision", and deletions as "-key@revision".
std::vector<std::string> EventsOf(const StoreMachine& client) {
  std::vector<std::string> events;
  for (const v1::StoreWatchEvent& event : client.events()) {
    events.push_back(event.deleted()
                         ? absl::StrCat("-", event.key(), "@", event.revision())
                         : absl::StrCat(event.key(), "=", event.value(), "@", event.revision()));
  }
  return events;
}

// A client that watches "k", on a stream.
StoreMachine& Watching(StoreMachine* client) {
  client->Watch(1, "k");
  client->Accept();
  return *client;
}

TEST(StoreWatchesTest, ResumesAfterTheLastRevision) {
  StoreMachine client;
  client.Watch(1, "k");
  EXPECT_THAT(client.TakeSent()[0].open().unanswered(), ElementsAre());
  client.Accept();
  const v1::StoreOperation first = client.TakeSent()[0].operation();
  EXPECT_EQ(first.id(), 1);
  EXPECT_EQ(first.watch().prefix(), "k");
  EXPECT_TRUE(first.watch().has_after_revision());
  EXPECT_EQ(first.watch().after_revision(), 0);
  client.Say(EventOf("k1", 3, "a"));
  client.Say(SyncedAt(5, {"k1"}));
  client.Reopen();
  client.TakeSent();
  client.Accept();
  EXPECT_EQ(client.TakeSent()[0].operation().watch().after_revision(), 5);
}

TEST(StoreWatchesTest, ReportsEachChangeOnce) {
  StoreMachine machine;
  StoreMachine& client = Watching(&machine);
  client.Say(EventOf("k1", 3, "a"));
  client.Say(EventOf("k1", 3, "a"));
  client.Say(EventOf("k1", 4, "b"));
  client.Say(DeletionOf("k1", 5));
  client.Say(DeletionOf("k2", 6));
  EXPECT_THAT(EventsOf(client), ElementsAre("k1=a@3", "k1=b@4", "-k1@5"));
}

TEST(StoreWatchesTest, ReportsKeysThatWereDeletedMeanwhile) {
  StoreMachine machine;
  StoreMachine& client = Watching(&machine);
  for (const char* key : {"k1", "k2", "k3"}) client.Say(EventOf(key, 3, "a"));
  client.Say(SyncedAt(3, {"k1", "k2", "k3"}));
  client.Reopen();
  client.Accept();
  client.Say(EventOf("k2", 8, "b"));
  client.Say(SyncedAt(9, {"k1"}, /*more=*/true));
  client.Say(EventOf("k3", 10, "c"));  // after the list was made
  client.Say(SyncedAt(9, {"k4"}));
  EXPECT_THAT(EventsOf(client),
              ElementsAre("k1=a@3", "k2=a@3", "k3=a@3", "k2=b@8", "k3=c@10", "-k2@9"));
}

TEST(StoreWatchesTest, ForgetsAListThatBroke) {
  StoreMachine machine;
  StoreMachine& client = Watching(&machine);
  client.Say(EventOf("k1", 3, "a"));
  client.Say(SyncedAt(4, {"k1"}, /*more=*/true));
  client.Reopen();
  client.Accept();
  client.Say(SyncedAt(9, {}));
  EXPECT_THAT(EventsOf(client), ElementsAre("k1=a@3", "-k1@9"));
}

TEST(StoreWatchesTest, EndsByCancel) {
  StoreMachine machine;
  StoreMachine& client = Watching(&machine);
  client.TakeSent();
  client.Cancel(1);
  EXPECT_EQ(client.TakeSent()[0].cancel().operation(), 1);
  EXPECT_EQ(client.EndOf(1)->answer.status().code(), absl::StatusCode::kCancelled);
  client.Say(EventOf("k1", 3, "a"));
  client.Refuse(1, absl::CancelledError("given up"));
  EXPECT_THAT(EventsOf(client), ElementsAre());
  client.Reopen();
  client.TakeSent();
  client.Accept();
  for (const v1::StoreRequest& request : client.TakeSent()) EXPECT_FALSE(request.has_operation());
}

TEST(StoreWatchesTest, EndsWithTheDaemonsError) {
  StoreMachine machine;
  StoreMachine& client = Watching(&machine);
  client.TakeSent();
  client.Refuse(1, absl::InvalidArgumentError("the prefix is too long"));
  EXPECT_EQ(client.EndOf(1)->answer.status(), absl::InvalidArgumentError("the prefix is too long"));
  for (const v1::StoreRequest& request : client.TakeSent()) EXPECT_FALSE(request.has_cancel());
}

// No daemon sends this.
TEST(StoreWatchesTest, EndsWithAnErrorIfTheDaemonAnswersWithoutOne) {
  StoreMachine machine;
  StoreMachine& client = Watching(&machine);
  client.Answer(1, "value");
  EXPECT_EQ(client.EndOf(1)->answer.status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace muster::internal
