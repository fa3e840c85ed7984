#include <map>

#include "gtest/gtest.h"
#include "tests/server/core/random/random_store_schedule.h"

namespace muster::core::store {

void StoreSchedule::Rest() {
  CloseHalfOpen();
  DeliverAll();
  if (configuration_.losses) {
    for (const int seconds : {3, 61, 4000}) {
      Advance(absl::Seconds(seconds));
      DeliverAll();
    }
  } else if (!store_->context().serving) {
    Advance(absl::Hours(2));  // no client was ever served
    DeliverAll();
  }
  if (Living() == 0 || ::testing::Test::HasFailure()) return;
  EXPECT_TRUE(store_->context().serving) << "STUCK: the recovery";
  for (const auto& [id, client] : clients_) {
    if (client->alive && !client->ended) CheckNotStuck(*client);
  }
  for (const auto& [name, slot] : store_->slots().all()) CheckPlaced(*slot);
  EXPECT_EQ(store_->slots().entries(), store_->slots().existing()) << "a tombstone is left";
}

bool StoreSchedule::Exists(const std::string& key) const {
  const Slot* const slot = store_->slots().Find(key);
  return slot != nullptr && slot->exists();
}

void StoreSchedule::CheckNotStuck(const ModelClient& client) {
  for (const auto& [id, operation] : client.unanswered) {
    bool may_wait = false;
    if (const auto* get = std::get_if<StoreGet>(&operation.what)) may_wait = !Exists(get->key);
    if (const auto* wait = std::get_if<StoreWait>(&operation.what)) {
      for (const std::string& key : wait->keys) may_wait = may_wait || !Exists(key);
    }
    const Slot* const slot =
        KeyOf(operation) == nullptr ? nullptr : store_->slots().Find(*KeyOf(operation));
    if (std::holds_alternative<StorePop>(operation.what)) {
      may_wait = slot == nullptr || !slot->exists() ||
                 std::get<StoreQueue>(slot->entry->content).elements.empty();
    }
    if (std::holds_alternative<StoreBarrier>(operation.what)) {
      const auto& now = std::get<StoreArrivals>(slot->entry->content);
      may_wait = now.arrived < now.complete_at;
    }
    EXPECT_TRUE(may_wait) << "STUCK: operation " << id << " of " << client.id << ", kind "
                          << operation.what.index();
  }
  for (const auto& [id, watch] : client.watches) CheckWatch(watch);
}

void StoreSchedule::CheckWatch(const ModelClient::Watch& watch) {
  if (configuration_.losses) return;
  std::map<std::string, uint64_t> expected;
  for (const auto& [name, slot] : store_->slots().all()) {
    if (slot->exists() && name.compare(0, watch.prefix.size(), watch.prefix) == 0) {
      expected[name] = slot->version.revision;
    }
  }
  EXPECT_EQ(watch.keys, expected) << "of a watch of '" << watch.prefix << "'";
}

void StoreSchedule::CheckPlaced(const Slot& slot) {
  if (slot.entry) {
    EXPECT_NE(slot.keeper, nullptr);
    EXPECT_TRUE(slot.copy != nullptr || Living() == 1) << "PLACED: key " << slot.key;
  }
  for (const auto& [id, client] : clients_) {
    if (!client->alive || client->ended) continue;
    const auto held = client->held.find(slot.key);
    const bool is_holder = slot.entry && ((slot.keeper != nullptr && slot.keeper->id == id) ||
                                          (slot.copy != nullptr && slot.copy->id == id));
    ASSERT_EQ(held != client->held.end(), is_holder) << "PLACED: key " << slot.key << " at " << id;
    if (!is_holder) continue;
    EXPECT_TRUE(held->second.version == slot.version) << "PLACED: key " << slot.key;
    EXPECT_TRUE(SameContent(held->second.entry.content, slot.entry->content))
        << "client " << id << " holds another content of key " << slot.key;
  }
}

}  // namespace muster::core::store
