// Runs random programs on the client's half and the daemon's half of the store, over a network that
// breaks. MUSTER_TEST_SEED=n runs only that seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/src/protocol/store/messages/store_calls.h"
#include "tests/client/protocol/store/core_messages.h"
#include "tests/client/protocol/store/store_world.h"

namespace muster {
namespace {

using internal::StoreCallId;

struct Faults {
  bool cuts = false;
  bool restarts = false;
  bool kills = false;
  // The daemon and clients may fail together. Then a change may be lost although it was answered or
  // read, and even be given up after that.
  bool may_lose() const { return restarts && kills; }
};

// An operation of a program, and how it ended.
struct Record {
  int client = 0;
  v1::StoreOperation operation;
  std::string token;   // names the operation
  uint64_t floor = 0;  // the highest answered revision of the key when it began
  bool ended = false;
  absl::StatusOr<v1::StoreAnswer> answer = absl::UnknownError("not ended");

  bool is_ok() const { return ended && answer.ok(); }
  // Whether the operation certainly has no effect.
  bool has_no_effect() const {
    return ended &&
           (absl::IsCancelled(answer.status()) || absl::IsDeadlineExceeded(answer.status()));
  }
  bool has_changed() const {
    if (!is_ok() || !internal::MayChange(operation)) return false;
    return (!operation.has_delete_() && !operation.has_compare_and_set()) || answer->changed();
  }
};

class RandomRun {
 public:
  RandomRun(uint64_t seed, Faults faults)
      : faults_(faults),
        world_(seed, 2 + static_cast<int>(seed % 3),
               [this](int client, const internal::StoreEffects& effects) {
                 Observe(client, effects);
               }),
        clients_(2 + static_cast<int>(seed % 3)) {}

  void Run() {
    for (int client = 0; client < clients_; ++client) {
      if (world_.Random(2) == 0) continue;
      watches_[{client, world_.next_id(client)}];
      world_.Watch(client, "");
    }
    constexpr int kSteps = 600;
    for (int step = 0; step < kSteps; ++step) Step();
    world_.Settle(absl::Minutes(5));
    CheckEnds();
    CheckAppends();
    CheckAdds();
    CheckQueue();
    CheckRevisions();
    CheckPlaces();
    CheckWatches();
  }

 private:
  void Step() {
    const uint64_t choice = world_.Random(1000);
    if (choice < 600) {
      for (uint64_t n = world_.Random(4); n > 0; --n) world_.DeliverOne();
    } else if (choice < 800) {
      BeginOne();
    } else if (choice < 830) {
      CancelOne();
    } else if (choice < 960) {
      world_.Advance(absl::Milliseconds(world_.Random(300)));
    } else if (choice < 985) {
      if (faults_.cuts) world_.CutStream();
    } else if (choice < 992) {
      if (faults_.restarts) world_.RestartDaemon(absl::Milliseconds(world_.Random(2000)));
    } else if (faults_.kills && CountAlive() > 1) {
      EndOne();
    }
  }

  int CountAlive() const {
    int alive = 0;
    for (int client = 0; client < clients_; ++client) alive += world_.is_alive(client) ? 1 : 0;
    return alive;
  }

  void EndOne() {
    const int client = static_cast<int>(world_.Random(clients_));
    if (!world_.is_alive(client)) return;
    if (world_.Random(3) == 0) {
      // Changes that it has sent may or may not be applied.
      is_leaving_ = true;
      world_.Leave(client);
      is_leaving_ = false;
    } else {
      world_.Kill(client, world_.Random(2) == 0);
    }
  }

  void BeginOne() {
    const int client = static_cast<int>(world_.Random(clients_));
    if (!world_.is_alive(client) || records_.size() > 150) return;
    Record record;
    record.client = client;
    record.token = absl::StrCat(client, ".", records_.size());
    record.operation = NewOperation(record.token);
    const auto floor = answered_.find(internal::KeyOf(record.operation));
    if (floor != answered_.end()) record.floor = floor->second;
    const absl::Duration timeout =
        world_.Random(4) == 0 ? absl::Milliseconds(world_.Random(500)) : absl::Seconds(200);
    // The operation may end in its first step.
    const StoreCallId id = world_.next_id(client);
    records_[{client, id}] = record;
    world_.Begin(client, record.operation, timeout);
  }

  v1::StoreOperation NewOperation(const std::string& token) {
    const std::string value_key = absl::StrCat("s", world_.Random(3));
    v1::StoreOperation operation;
    switch (world_.Random(12)) {
      case 0:
        operation.mutable_append()->set_key("t");
        operation.mutable_append()->set_value(token + ";");
        break;
      case 1:
        operation.mutable_add()->set_key("n");
        operation.mutable_add()->set_amount(1);
        break;
      case 2:
      case 3:
        operation.mutable_push()->set_key("q");
        operation.mutable_push()->set_value(token);
        break;
      case 4:
        operation.mutable_pop()->set_key("q");
        break;
      case 5:
        operation.mutable_barrier()->set_key("b");
        operation.mutable_barrier()->set_count(2);
        break;
      case 6:
      case 7:
        operation.mutable_set()->set_key(value_key);
        operation.mutable_set()->set_value(token);
        break;
      case 8:
        operation.mutable_delete_()->set_key(value_key);
        break;
      case 9:
        operation.mutable_compare_and_set()->set_key(value_key);
        operation.mutable_compare_and_set()->set_value(token);
        break;
      case 10:
        operation.mutable_queue_length()->set_key("q");
        break;
      default:
        operation.mutable_get()->set_key(value_key);
    }
    return operation;
  }

  void CancelOne() {
    std::vector<std::pair<int, StoreCallId>> pending;
    for (const auto& [id, record] : records_) {
      if (!record.ended && world_.is_alive(id.first)) pending.push_back(id);
    }
    if (pending.empty()) return;
    const auto [client, id] = pending[world_.Random(pending.size())];
    world_.Cancel(client, id);
  }

  void Observe(int client, const internal::StoreEffects& effects) {
    if (is_leaving_) return;
    for (const internal::StoreCompletion& completion : effects.completions) {
      const auto found = records_.find({client, completion.id});
      if (found == records_.end()) continue;  // a watch
      Record& record = found->second;
      EXPECT_FALSE(record.ended) << record.token;
      record.ended = true;
      record.answer = completion.answer;
      if (completion.answer.ok()) NoteRevision(record);
    }
    for (const v1::StoreWatchEvent& event : effects.events) NoteEvent(client, event);
  }

  // No operation sees an older state than one that was answered before it began: so no answered
  // change is lost, and no deleted value comes back.
  void NoteRevision(const Record& record) {
    const uint64_t revision = record.answer->revision();
    if (revision == 0) return;
    uint64_t& answered = answered_[internal::KeyOf(record.operation)];
    if (!faults_.may_lose()) {
      EXPECT_GE(revision, record.floor + (record.has_changed() ? 1 : 0))
          << record.token << " " << record.operation.ShortDebugString();
    }
    answered = std::max(answered, revision);
  }

  void NoteEvent(int client, const v1::StoreWatchEvent& event) {
    auto& keys = watches_.at({client, event.watch()});
    if (event.deleted()) {
      EXPECT_EQ(keys.erase(event.key()), 1) << event.ShortDebugString();
    } else {
      EXPECT_GT(event.revision(), keys[event.key()]) << event.ShortDebugString();
      keys[event.key()] = event.revision();
    }
  }

  // ---- Checks at rest ----

  // Returns what the daemon has for the key, or null.
  const core::store::Slot* FindEntry(const std::string& key) const {
    const core::store::Slot* const slot = world_.daemon().slots().Find(key);
    return slot != nullptr && slot->exists() ? slot : nullptr;
  }

  std::string ValueOf(const std::string& key) const {
    const core::store::Slot* const slot = FindEntry(key);
    return slot == nullptr ? "" : WireEntryOf(*slot->entry).value();
  }

  // Nothing waits for ever.
  void CheckEnds() {
    for (const auto& [id, record] : records_) {
      if (!world_.is_alive(id.first)) continue;
      EXPECT_TRUE(record.ended) << record.token << " " << record.operation.ShortDebugString();
      if (faults_.kills) continue;
      EXPECT_FALSE(record.ended && (absl::IsAborted(record.answer.status()) ||
                                    absl::IsUnavailable(record.answer.status())))
          << record.token << " " << record.answer.status();
    }
  }

  // Each append is in the value once, or never if it was given up.
  void CheckAppends() {
    std::map<std::string, int> times;
    for (const auto& token : absl::StrSplit(ValueOf("t"), ';', absl::SkipEmpty())) {
      ++times[std::string(token)];
    }
    for (const auto& [id, record] : records_) {
      if (!record.operation.has_append()) continue;
      const int count = times[record.token];
      EXPECT_LE(count, 1) << record.token;
      if (faults_.may_lose()) continue;
      if (record.has_no_effect()) {
        EXPECT_EQ(count, 0) << record.token;
      }
      if (record.is_ok()) {
        EXPECT_EQ(count, 1) << record.token;
      }
    }
  }

  void CheckAdds() {
    int64_t number = 0;
    ASSERT_TRUE(FindEntry("n") == nullptr || absl::SimpleAtoi(ValueOf("n"), &number));
    int64_t least = 0;
    int64_t most = 0;
    std::set<int64_t> results;
    for (const auto& [id, record] : records_) {
      if (!record.operation.has_add()) continue;
      if (record.is_ok()) {
        ++least;
        if (!faults_.may_lose()) {
          EXPECT_TRUE(results.insert(record.answer->number()).second) << record.token;
        }
      }
      if (!record.has_no_effect()) ++most;
    }
    if (faults_.may_lose()) return;
    EXPECT_LE(number, most);
    EXPECT_GE(number, least);
  }

  // Each element is popped once. An element can only vanish with a client that has popped it.
  void CheckQueue() {
    std::map<std::string, int> seen;
    int uncertain_pops = 0;
    for (const auto& [id, record] : records_) {
      if (!record.operation.has_pop()) continue;
      if (record.is_ok()) ++seen[record.answer->value()];
      if (!record.is_ok() && !record.has_no_effect()) ++uncertain_pops;
    }
    if (const core::store::Slot* const slot = FindEntry("q")) {
      const v1::StoreEntry entry = WireEntryOf(*slot->entry);
      for (const std::string& element : entry.queue().elements()) ++seen[element];
    }
    int vanished = 0;
    for (const auto& [id, record] : records_) {
      if (!record.operation.has_push()) continue;
      if (faults_.may_lose()) continue;
      const int count = seen[record.token];
      if (record.has_no_effect()) {
        EXPECT_EQ(count, 0) << record.token;
      }
      EXPECT_LE(count, 1) << record.token;
      if (record.is_ok() && count == 0) ++vanished;
    }
    if (!faults_.may_lose()) {
      EXPECT_LE(vanished, uncertain_pops);
    }
  }

  // No two changes have one revision, and a read has the value of its revision.
  void CheckRevisions() {
    if (faults_.may_lose()) return;
    std::map<uint64_t, const Record*> changes;
    for (const auto& [id, record] : records_) {
      if (!record.has_changed()) continue;
      const Record*& change = changes[record.answer->revision()];
      EXPECT_EQ(change, nullptr) << record.token << " and " << change->token;
      change = &record;
    }
    for (const auto& [id, record] : records_) {
      if (!record.is_ok() || !record.operation.has_get()) continue;
      const auto change = changes.find(record.answer->revision());
      if (change == changes.end()) continue;
      EXPECT_EQ(change->second->token, record.answer->value()) << record.token;
    }
  }

  // Two clients hold the latest revision of each entry, and the others hold nothing.
  void CheckPlaces() {
    int alive = CountAlive();
    std::map<std::string, int> holders;
    for (int client = 0; client < clients_; ++client) {
      if (!world_.is_alive(client)) continue;
      if (!world_.core(client).has_stream()) --alive;
      for (const auto& [key, held] : world_.core(client).held().entries()) {
        ++holders[key];
        const core::store::Slot* const slot = FindEntry(key);
        ASSERT_NE(slot, nullptr) << key << " is held by client " << client;
        EXPECT_EQ(held.revision, slot->version.revision) << key;
        v1::StoreEntry expected = WireEntryOf(*slot->entry);
        v1::StoreEntry actual = held.entry;
        expected.clear_results();
        actual.clear_results();
        EXPECT_EQ(actual.SerializeAsString(), expected.SerializeAsString()) << key;
      }
    }
    for (const auto& [key, slot] : world_.daemon().slots().all()) {
      if (slot->entry) {
        EXPECT_EQ(holders[key], std::min(2, alive)) << key;
      }
      if (slot->entry) {
        EXPECT_TRUE(slot->exists()) << "a tombstone of " << key << " is left";
      }
    }
  }

  // A watch that has heard of everything knows the keys that exist.
  void CheckWatches() {
    for (const auto& [watch, keys] : watches_) {
      if (!world_.is_alive(watch.first)) continue;
      for (const auto& [key, slot] : world_.daemon().slots().all()) {
        if (!slot->exists()) continue;
        const auto known = keys.find(key);
        ASSERT_NE(known, keys.end()) << key << " is unknown to client " << watch.first;
        if (!faults_.may_lose()) {
          EXPECT_EQ(known->second, slot->version.revision) << key;
        }
      }
      for (const auto& entry : keys) EXPECT_NE(FindEntry(entry.first), nullptr) << entry.first;
    }
  }

  const Faults faults_;
  bool is_leaving_ = false;
  std::map<std::pair<int, StoreCallId>, Record> records_;
  // The keys that each watch knows, and their revisions.
  std::map<std::pair<int, StoreCallId>, std::map<std::string, uint64_t>> watches_;
  std::map<std::string, uint64_t> answered_;  // the highest answered revision of each key
  StoreWorld world_;
  const int clients_;
};

void RunSeeds(Faults faults) {
  uint64_t first = 0;
  uint64_t end = 350;
  if (const char* const seed = std::getenv("MUSTER_TEST_SEED")) {
    ASSERT_TRUE(absl::SimpleAtoi(seed, &first));
    end = first + 1;
  }
  for (uint64_t seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("MUSTER_TEST_SEED=", seed));
    RandomRun(seed, faults).Run();
  }
}

TEST(StoreRandomTest, LosesNothingIfStreamsBreakAndTheDaemonRestarts) {
  RunSeeds({/*cuts=*/true, /*restarts=*/true, /*kills=*/false});
}

TEST(StoreRandomTest, LosesNothingIfStreamsBreakAndClientsDie) {
  RunSeeds({/*cuts=*/true, /*restarts=*/false, /*kills=*/true});
}

TEST(StoreRandomTest, AppliesNothingTwiceIfTheDaemonAndClientsDie) {
  RunSeeds({/*cuts=*/true, /*restarts=*/true, /*kills=*/true});
}

}  // namespace
}  // namespace muster
