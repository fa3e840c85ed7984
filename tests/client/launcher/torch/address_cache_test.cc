#include "client/launcher/torch/address_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::launcher::torch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kGroup[] = "torch/0/k/default_pg/0//cpu//0/";

std::string KeyOf(int rank) { return absl::StrCat(kGroup, rank); }

v1::StoreOperation Get(const std::string& key) {
  v1::StoreOperation operation;
  operation.mutable_get()->set_key(key);
  return operation;
}
v1::StoreOperation GetNow(const std::string& key) {
  v1::StoreOperation operation = Get(key);
  operation.mutable_wait_timeout()->set_seconds(0);
  return operation;
}
v1::StoreOperation Set(const std::string& key, const std::string& value) {
  v1::StoreOperation operation;
  operation.mutable_set()->set_key(key);
  operation.mutable_set()->set_value(value);
  return operation;
}

// The job's store, whose operations end when the test says so.
class FakeStore final : public WatchedKeyStore {
 public:
  void Begin(uint64_t id, v1::StoreOperation operation) override { begun.emplace(id, operation); }
  void Cancel(uint64_t id) override { cancelled.push_back(id); }
  std::vector<Ended> TakeEnded() override { return std::exchange(ended, {}); }
  int fd() const override { return -1; }
  void Watch(const std::string& prefix) override { watched.insert(prefix); }
  void EndWatch(const std::string& prefix) override { watched.erase(prefix); }
  std::vector<Event> TakeEvents() override { return std::exchange(events, {}); }

  std::map<uint64_t, v1::StoreOperation> begun;
  std::vector<uint64_t> cancelled;
  std::vector<Ended> ended;
  std::set<std::string> watched;
  std::vector<Event> events;
};

// A cache over a FakeStore.
class Cache {
 public:
  Cache() {
    auto store = std::make_unique<FakeStore>();
    store_ = store.get();
    cache_ = std::make_unique<AddressCache>(std::move(store));
  }

  // Begins an operation.
  void Begin(uint64_t id, v1::StoreOperation operation) {
    cache_->Begin(id, std::move(operation));
    Take();
  }
  void Cancel(uint64_t id) {
    cache_->Cancel(id);
    Take();
  }
  // Ends an operation in the store.
  void Answer(uint64_t id, uint64_t revision, const std::string& value = "") {
    v1::StoreAnswer answer;
    answer.set_revision(revision);
    if (store_->begun.at(id).has_get()) answer.set_value(value);
    Fail(id, std::move(answer));
  }
  void Fail(uint64_t id, absl::StatusOr<v1::StoreAnswer> answer) {
    store_->begun.erase(id);
    store_->ended.push_back({id, std::move(answer)});
    Take();
  }
  // Lets the cache know a value, of which the store is asked first.
  void Know(const std::string& key, uint64_t revision, const std::string& value) {
    const uint64_t id = next_id_++;
    Begin(id, Get(key));
    Answer(id, revision, value);
  }
  // Reports a change of a key, or the end of its group's watch.
  void Change(const std::string& key, uint64_t revision, const std::string& value) {
    v1::StoreWatchEvent event;
    event.set_key(key);
    event.set_revision(revision);
    event.set_value(value);
    Report(event);
  }
  void Delete(const std::string& key, uint64_t revision) {
    v1::StoreWatchEvent event;
    event.set_key(key);
    event.set_revision(revision);
    event.set_deleted(true);
    Report(event);
  }
  void Report(absl::StatusOr<v1::StoreWatchEvent> event) {
    store_->events.push_back({kGroup, std::move(event)});
    Take();
  }

  // Returns the value or the code with which an operation has ended, or "waits".
  std::string EndOf(uint64_t id) const {
    const auto end = ends_.find(id);
    if (end == ends_.end()) return "waits";
    if (!end->second.ok()) return absl::StatusCodeToString(end->second.status().code());
    return end->second->value();
  }
  // Returns the operations that are in progress in the store.
  std::vector<uint64_t> InStore() const {
    std::vector<uint64_t> ids;
    for (const auto& [id, operation] : store_->begun) ids.push_back(id);
    return ids;
  }
  FakeStore& store() { return *store_; }

 private:
  void Take() {
    for (KeyStore::Ended& ended : cache_->TakeEnded()) {
      EXPECT_TRUE(ends_.emplace(ended.id, std::move(ended.answer)).second) << "ends twice";
    }
  }

  uint64_t next_id_ = 1000;
  FakeStore* store_;
  std::unique_ptr<AddressCache> cache_;
  std::map<uint64_t, absl::StatusOr<v1::StoreAnswer>> ends_;
};

TEST(AddressCacheTest, KnowsGloosAddressesByTheirForm) {
  EXPECT_EQ(AddressCache::GroupOf("torch/0/k/default_pg/0//1//cpu//0/12"),
            "torch/0/k/default_pg/0//1//cpu//0/");
  EXPECT_EQ(AddressCache::GroupOf("/default_pg/0//cpu//reconfigure/100/0/1"),
            "/default_pg/0//cpu//reconfigure/100/0/");
  for (const char* other : {"/default_pg/0//cpu//reconfigure/100/claimed", "/a/3", "3", "", "/",
                            "/default_pg/0//cpu//0/", "/default_pg/0//cpu//0/3a"}) {
    EXPECT_EQ(AddressCache::GroupOf(other), std::nullopt) << other;
  }
}

TEST(AddressCacheTest, AsksOnceForAllRanksOfTheNode) {
  Cache cache;
  cache.Begin(1, Get(KeyOf(3)));
  cache.Begin(2, Get(KeyOf(3)));
  cache.Begin(3, Get(KeyOf(3)));
  EXPECT_THAT(cache.store().watched, ElementsAre(kGroup));
  EXPECT_THAT(cache.InStore(), ElementsAre(1));
  cache.Answer(1, 7, "address");
  for (uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(cache.EndOf(id), "address");
  cache.Begin(4, Get(KeyOf(3)));
  cache.Begin(5, GetNow(KeyOf(3)));
  EXPECT_EQ(cache.EndOf(4), "address");
  EXPECT_EQ(cache.EndOf(5), "address");
  EXPECT_THAT(cache.InStore(), IsEmpty());
}

TEST(AddressCacheTest, AnswersWhatTheWatchHasReported) {
  Cache cache;
  cache.Begin(1, Set(KeyOf(0), "mine"));
  cache.Change(KeyOf(1), 8, "other");
  cache.Begin(2, Get(KeyOf(1)));
  EXPECT_EQ(cache.EndOf(2), "other");
  cache.Begin(3, Get(KeyOf(2)));
  cache.Begin(4, Get(KeyOf(2)));
  cache.Change(KeyOf(2), 9, "late");
  EXPECT_EQ(cache.EndOf(4), "late");
  EXPECT_EQ(cache.EndOf(3), "waits");  // the store answers it
  cache.Answer(3, 9, "late");
  EXPECT_EQ(cache.EndOf(3), "late");
}

TEST(AddressCacheTest, OtherKeysAreTheStoresAlone) {
  Cache cache;
  cache.Begin(1, Get("torch/0/k/a"));
  cache.Answer(1, 3, "1");
  cache.Begin(2, Get("torch/0/k/a"));
  v1::StoreOperation wait;
  wait.mutable_wait()->add_keys(KeyOf(0));
  cache.Begin(3, wait);
  EXPECT_THAT(cache.InStore(), ElementsAre(2, 3));
  EXPECT_THAT(cache.store().watched, IsEmpty());
}

TEST(AddressCacheTest, SeesTheChangesOfItsNode) {
  Cache cache;
  cache.Know(KeyOf(0), 5, "old");
  cache.Begin(1, Set(KeyOf(0), "new"));
  cache.Begin(2, Get(KeyOf(0)));  // behind the change, in the store
  EXPECT_THAT(cache.InStore(), ElementsAre(1, 2));
  cache.Change(KeyOf(0), 5, "old");
  cache.Answer(1, 6);
  cache.Begin(3, Get(KeyOf(0)));
  EXPECT_EQ(cache.EndOf(3), "new");
  cache.Change(KeyOf(0), 5, "old");
  cache.Begin(4, Get(KeyOf(0)));
  EXPECT_EQ(cache.EndOf(4), "new");
}

TEST(AddressCacheTest, NeverGoesBack) {
  Cache cache;
  cache.Begin(1, Get(KeyOf(0)));
  cache.Change(KeyOf(0), 9, "new");
  cache.Answer(1, 8, "old");
  cache.Begin(2, Get(KeyOf(0)));
  EXPECT_EQ(cache.EndOf(2), "new");
  cache.Delete(KeyOf(0), 10);
  cache.Change(KeyOf(0), 9, "new");
  cache.Begin(3, GetNow(KeyOf(0)));
  EXPECT_THAT(cache.InStore(), ElementsAre(3));  // only the store knows that a key is missing
}

TEST(AddressCacheTest, AChangeWhoseResultIsNotKnownLeavesTheKeyToTheStore) {
  Cache cache;
  cache.Know(KeyOf(0), 5, "old");
  v1::StoreOperation append;
  append.mutable_append()->set_key(KeyOf(0));
  append.mutable_append()->set_value("er");
  cache.Begin(1, append);
  cache.Answer(1, 6);
  cache.Begin(2, Get(KeyOf(0)));
  EXPECT_THAT(cache.InStore(), ElementsAre(2));
  cache.Answer(2, 6, "older");
  cache.Begin(3, Get(KeyOf(0)));
  EXPECT_EQ(cache.EndOf(3), "older");
  cache.Begin(4, append);
  cache.Fail(4, absl::ResourceExhaustedError("too long"));
  cache.Begin(5, Get(KeyOf(0)));
  EXPECT_THAT(cache.InStore(), ElementsAre(5));
}

TEST(AddressCacheTest, WhenTheOneThatAsksGivesUpAnotherOneAsks) {
  Cache cache;
  for (uint64_t id = 1; id <= 3; ++id) cache.Begin(id, Get(KeyOf(0)));
  cache.Cancel(2);
  EXPECT_EQ(cache.EndOf(2), "CANCELLED");
  cache.Cancel(1);
  EXPECT_THAT(cache.store().cancelled, ElementsAre(1));
  cache.Fail(1, absl::CancelledError("given up"));
  EXPECT_THAT(cache.InStore(), ElementsAre(3));
  cache.Answer(3, 4, "address");
  EXPECT_EQ(cache.EndOf(3), "address");
}

TEST(AddressCacheTest, WithoutAWatchEveryGetIsTheStores) {
  Cache cache;
  cache.Begin(1, Get(KeyOf(0)));
  cache.Begin(2, Get(KeyOf(0)));
  cache.Change(KeyOf(1), 5, "known");
  cache.Report(absl::ResourceExhaustedError("too many waiters"));
  EXPECT_THAT(cache.InStore(), ElementsAre(1, 2));
  cache.Begin(3, Get(KeyOf(1)));
  EXPECT_THAT(cache.InStore(), ElementsAre(1, 2, 3));
  for (uint64_t id = 1; id <= 3; ++id) cache.Answer(id, 6, "answer");
  for (uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(cache.EndOf(id), "answer");
}

TEST(AddressCacheTest, ForgetsTheOldestGroupBeyondTheLimitButNoneInUse) {
  Cache cache;
  const auto key = [](size_t group) { return absl::StrCat("/", group, "//cpu//0/1"); };
  cache.Begin(1, Get(key(0)));  // goes on
  uint64_t id = 2;
  for (size_t group = 1; group <= AddressCache::kMaxGroups; ++group, ++id) {
    cache.Begin(id, Set(key(group), "address"));
    cache.Answer(id, id);
  }
  EXPECT_EQ(cache.store().watched.size(), AddressCache::kMaxGroups);
  EXPECT_EQ(cache.store().watched.count("/0//cpu//0/"), 1);
  EXPECT_EQ(cache.store().watched.count("/1//cpu//0/"), 0);
  cache.Begin(id, Get(key(1)));
  EXPECT_THAT(cache.InStore(), UnorderedElementsAre(1, id));
}

TEST(AddressCacheTest, DoesNotKeepLargeValues) {
  Cache cache;
  cache.Know(KeyOf(0), 5, "small");
  cache.Begin(1, Get(KeyOf(1)));
  cache.Change(KeyOf(1), 5, std::string(AddressCache::kMaxValueBytes + 1, 'x'));
  cache.Answer(1, 5, std::string(AddressCache::kMaxValueBytes + 1, 'x'));
  cache.Begin(2, Get(KeyOf(1)));
  EXPECT_THAT(cache.InStore(), ElementsAre(2));
}

}  // namespace
}  // namespace muster::launcher::torch
