#include "tests/server/core/random/random_store_history.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"
#include "gtest/gtest.h"
#include "server/core/store/content.h"

namespace muster::core::store {

namespace {

std::string TextOf(const StoreOperationId& id) {
  return absl::StrCat(id.client.substr(0, 4), ":", id.operation);
}

bool IsIn(const std::set<StoreOperationId>& set, const StoreOperationId& id) {
  return set.count(id) > 0;
}

}  // namespace

const std::string* KeyOf(const StoreOperation& operation) {
  return std::visit(Overloaded{
                        [](const StoreWait&) -> const std::string* { return nullptr; },
                        [](const StoreList&) -> const std::string* { return nullptr; },
                        [](const StoreCount&) -> const std::string* { return nullptr; },
                        [](const StoreWatch&) -> const std::string* { return nullptr; },
                        [](const auto& it) -> const std::string* { return &it.key; },
                    },
                    operation.what);
}

bool SameContent(const StoreContent& a, const StoreContent& b) {
  if (a.index() != b.index()) return false;
  if (const auto* value = std::get_if<Bytes>(&a)) return **value == *std::get<Bytes>(b);
  if (const auto* arrivals = std::get_if<StoreArrivals>(&a)) {
    const auto& others = std::get<StoreArrivals>(b);
    return arrivals->count == others.count && arrivals->arrived == others.arrived &&
           arrivals->complete_at == others.complete_at;
  }
  const auto* queue = std::get_if<StoreQueue>(&a);
  if (queue == nullptr) return true;
  const auto& others = std::get<StoreQueue>(b).elements;
  return std::equal(queue->elements.begin(), queue->elements.end(), others.begin(), others.end(),
                    [](const Bytes& x, const Bytes& y) { return *x == *y; });
}

void StoreHistory::NoteDaemonKilled() {
  serving_ = false;
  for (auto& [name, key] : keys_) key.current = {};
}

void StoreHistory::Observe(const Store& store) {
  if (!store.context().serving) return;
  if (!serving_) CheckRecovered(store);
  serving_ = true;
  for (const auto& [name, slot] : store.slots().all()) keys_[name];
  for (auto& [name, key] : keys_) ObserveKey(name, store.slots().Find(name));
}

void StoreHistory::ObserveKey(const std::string& name, const Slot* slot) {
  Key& key = keys_[name];
  if (slot != nullptr && slot->entry) {
    if (!(slot->version == key.current)) NoteChanges(&key, *slot);
    NoteHolders(&key, *slot);
  } else if (key.current.revision != 0) {
    const Operations& contained = key.versions[key.current].contained;
    key.forgotten.insert(contained.begin(), contained.end());
    key.current = {};
  }
}

// Notes the operations whose results are new.
void StoreHistory::NoteChanges(Key* key, const Slot& slot) {
  std::map<uint64_t, StoreOperationId> changes;
  for (const auto& [id, result] : slot.entry->results) {
    if (result.revision <= key->current.revision) continue;
    changes[result.revision] = id;
    key->results.emplace(id, result);
  }
  ASSERT_FALSE(changes.empty()) << "key " << slot.key << " has changed without a result";
  Operations contained = key->versions[key->current].contained;
  for (const auto& [revision, id] : changes) {
    EXPECT_FALSE(IsIn(contained, id) || IsIn(key->forgotten, id))
        << "ONCE: operation " << TextOf(id) << " is applied twice to key " << slot.key;
    EXPECT_FALSE(IsIn(given_up_, id))
        << "GIVEN_UP: operation " << TextOf(id) << " is applied to key " << slot.key;
    contained.insert(id);
    key->current = {revision, slot.version.daemon_instance};
    EXPECT_EQ(key->versions.count(key->current), 0u) << "a revision is given twice";
    key->versions[key->current].contained = contained;
    key->latest_of[revision] = key->current;
  }
  EXPECT_TRUE(key->current == slot.version) << "of key " << slot.key;
  key->versions[slot.version].content = slot.entry->content;
  key->versions[slot.version].is_known = true;
}

// Notes that a change outlasts the daemon once a living holder has confirmed it.
void StoreHistory::NoteHolders(Key* key, const Slot& slot) {
  int confirmed = 0;
  for (const Client* const holder : {slot.keeper, slot.copy}) {
    if (holder == nullptr) continue;
    const ModelClient& client = *clients_.at(holder->id);
    for (const Holding& holding : slot.holdings) {
      confirmed += holding.client == holder && client.alive && !client.silent && !client.ended &&
                   holding.confirmed == slot.version.revision;
    }
  }
  const Operations& contained = key->versions[slot.version].contained;
  if (confirmed > 0 && !(strict_ && losses_ == 0)) {
    key->outlasts_one.insert(contained.begin(), contained.end());
  }
  if (confirmed > 1) key->outlasts_two.insert(contained.begin(), contained.end());
}

// Returns the highest version that a client in the daemon's list holds (K13). Holds that the daemon
// has just sent have not arrived.
StoreVersion StoreHistory::HighestHeld(const Store& store, const std::string& name) const {
  StoreVersion highest;
  for (const auto& [id, client] : clients_) {
    const Client* const known = store.context().clients.Find(id);
    const auto held = client->held.find(name);
    if (known == nullptr || held == client->held.end()) continue;
    highest = std::max(highest, held->second.version);
  }
  return highest;
}

// Looks at what the daemon has recovered. In the same step it may have changed the keys already.
void StoreHistory::CheckRecovered(const Store& store) {
  for (auto& [name, key] : keys_) {
    const Slot* const slot = store.slots().Find(name);
    const bool is_old = slot != nullptr && slot->entry && key.versions.count(slot->version) > 0;
    key.current = is_old ? slot->version : HighestHeld(store, name);
    Operations contained;
    if (key.current.revision != 0) {
      const Version& version = key.versions[key.current];
      contained = version.contained;
      const bool deleted = version.is_known && IsTombstone(version.content);
      const bool is_back = slot != nullptr && slot->entry;
      ASSERT_TRUE(is_back || deleted) << "key " << name << " has not come back";
      if (is_back && version.is_known && slot->version == key.current) {
        EXPECT_TRUE(SameContent(version.content, slot->entry->content))
            << "key " << name << " has come back with another content";
      }
      // Its holders may still have a tombstone that the daemon had forgotten.
      if (deleted) {
        for (const StoreOperationId& id : contained) key.forgotten.erase(id);
      }
    }
    for (const StoreOperationId& id : key.outlasts_one) {
      EXPECT_TRUE(IsIn(contained, id) || IsIn(key.forgotten, id))
          << "LOST: operation " << TextOf(id) << " of key " << name;
    }
    for (const StoreOperationId& id : contained) {
      EXPECT_FALSE(IsIn(key.forgotten, id))
          << "RISEN: operation " << TextOf(id) << " of key " << name;
    }
  }
}

bool StoreHistory::IsHeld(const std::string& key, uint64_t revision, const ModelClient* but) const {
  return std::any_of(clients_.begin(), clients_.end(), [&](const auto& it) {
    const ModelClient& client = *it.second;
    return &client != but && client.alive && !client.silent && !client.ended &&
           client.Keeps(key) >= revision;
  });
}

void StoreHistory::NoteLossOf(const ModelClient& lost) {
  ++losses_;
  const bool is_harmless = strict_ && losses_ == 1;  // the answers have waited for two holders
  for (auto& [name, key] : keys_) {
    const uint64_t held = lost.Holds(name);
    if (!is_harmless && !IsHeld(name, held, &lost)) key.outlasts_one = key.outlasts_two;
    if (held != 0) key.outlasts_two.clear();
  }
}

// An answer that depends on a version has reached a client.
void StoreHistory::Reveal(const ModelClient& client, const std::string& name, uint64_t revision) {
  Key& key = keys_[name];
  const auto version = key.latest_of.find(revision);
  if (version == key.latest_of.end()) return;
  if (client.Keeps(name) < revision && losses_ > 0 && !IsHeld(name, revision, nullptr)) return;
  const Operations& contained = key.versions[version->second].contained;
  key.outlasts_one.insert(contained.begin(), contained.end());
}

void StoreHistory::NoteAnswered(const ModelClient& client, const ModelClient::Answered& answered) {
  const StoreAnswer& answer = answered.answer;
  const StoreOperationId id{client.id, answer.operation};
  const std::string* const name = KeyOf(answered.operation);
  if (!answer.error.ok()) {
    if (!std::holds_alternative<StoreBarrier>(answered.operation.what)) given_up_.insert(id);
    if (name == nullptr) return;
    const Key& key = keys_[*name];
    if (key.current.revision == 0) return;
    EXPECT_FALSE(!std::holds_alternative<StoreBarrier>(answered.operation.what) &&
                 IsIn(key.versions.at(key.current).contained, id))
        << "GIVEN_UP: operation " << TextOf(id) << " was done: " << answer.error;
    return;
  }
  if (name == nullptr || answer.revision == 0 || client.silent) return;
  Key& key = keys_[*name];
  if (const auto* get = std::get_if<StoreGet>(&answered.operation.what)) {
    const Version& version = key.versions[key.latest_of[answer.revision]];
    if (version.is_known) {
      EXPECT_TRUE(SameContent(version.content, StoreContent(answer.value)))
          << "a get of key " << get->key;
    }
  } else if (answer.changed) {
    const auto [begin, end] = key.results.equal_range(id);
    EXPECT_TRUE(std::any_of(begin, end,
                            [&](const auto& it) {
                              const StoreResult& first = it.second;
                              return first.revision == answer.revision &&
                                     first.number == answer.number &&
                                     (first.value == nullptr) == (answer.value == nullptr) &&
                                     (first.value == nullptr || *first.value == *answer.value);
                            }))
        << "RESULT: operation " << TextOf(id) << " gets a result that was not its first";
  }
  Reveal(client, *name, answer.revision);
}

void StoreHistory::CheckHeld(const ModelClient& to, const StoreAnswer& answer) const {
  const auto operation = to.unanswered.find(answer.operation);
  if (operation == to.unanswered.end() || answer.revision == 0 || !answer.error.ok()) return;
  const std::string* const name = KeyOf(operation->second);
  if (name == nullptr || keys_.count(*name) == 0) return;
  for (const StoreResponse& message : to.inbox) {
    const auto* hold = std::get_if<StoreHold>(&message);
    if (hold != nullptr && hold->key == *name && hold->version.revision >= answer.revision) return;
  }
  const bool is_held = std::any_of(clients_.begin(), clients_.end(), [&](const auto& it) {
    return it.second->Holds(*name) >= answer.revision;
  });
  EXPECT_TRUE(is_held || keys_.at(*name).current.revision == 0)
      << "HELD: no client holds key " << *name << " at revision " << answer.revision;
}

}  // namespace muster::core::store
