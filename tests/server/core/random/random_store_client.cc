#include "tests/server/core/random/random_store_client.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"
#include "gtest/gtest.h"

namespace muster::core::store {

void Apply(const StoreChange& change, StoreEntry* entry) {
  std::visit(Overloaded{
                 [&](const StoreChange::Appended& appended) {
                   Bytes& value = std::get<Bytes>(entry->content);
                   value = std::make_shared<std::string>(*value + *appended.bytes);
                 },
                 [&](const StoreChange::Pushed& pushed) {
                   std::get<StoreQueue>(entry->content).elements.push_back(pushed.element);
                 },
                 [&](const StoreChange::Popped&) {
                   std::get<StoreQueue>(entry->content).elements.pop_front();
                 },
                 [&](const StoreArrivals& arrivals) {
                   ASSERT_TRUE(std::holds_alternative<StoreArrivals>(entry->content));
                   entry->content = arrivals;
                 },
             },
             change.what);
  for (const StoreOperationId& id : change.acknowledged) entry->results.erase(id);
  entry->results[change.operation] = change.result;
}

void ModelClient::Open(WaiterId with_stream, size_t claim_chunk) {
  Forget();
  stream = with_stream;
  joined_.insert(id);
  StoreOpen open;
  open.incarnation = id;
  open.node = absl::StrCat("n", static_cast<int>(id[0]) % 2);
  open.attempt = ++attempt_;
  open.was_served = was_served_;
  open.highest_revision = highest_;
  open.next_operation = next_operation;
  for (const auto& [number, operation] : unanswered) open.unanswered.push_back(number);
  outbox.push_back({open});
  StoreClaim claim;
  claim.joined.assign(joined_.begin(), joined_.end());
  claim.lost.assign(lost_.begin(), lost_.end());
  for (const auto& [key, entry] : held) {
    claim.entries.push_back({key, entry.version});
    if (claim.entries.size() == claim_chunk) outbox.push_back({std::exchange(claim, {})});
  }
  claim.last = true;
  outbox.push_back({claim});
  std::map<uint64_t, StoreOperation> repeated = unanswered;
  for (const auto& [number, watch] : watches) {
    repeated[number] = {number, std::nullopt, StoreWatch{watch.prefix, watch.after}};
  }
  for (const auto& [number, operation] : repeated) {
    outbox.push_back({operation});
    if (cancelled_.count(number) > 0) outbox.push_back({StoreCancel{number}});
  }
}

void ModelClient::Forget() {
  stream = 0;
  broken = false;
  outbox.clear();
  inbox.clear();
  end.reset();
  processed = confirmed = 0;
  listed_.clear();
}

uint64_t ModelClient::Start(StoreOperation operation) {
  operation.id = next_operation++;
  if (const auto* watch = std::get_if<StoreWatch>(&operation.what)) {
    watches[operation.id] = {watch->prefix, watch->after_revision, {}};
  } else {
    unanswered[operation.id] = operation;
  }
  if (stream != 0) outbox.push_back({operation});
  return operation.id;
}

void ModelClient::Cancel(uint64_t operation) {
  cancelled_.insert(operation);
  if (stream != 0) outbox.push_back({StoreCancel{operation}});
}

std::optional<ModelClient::Answered> ModelClient::Process() {
  const StoreResponse message = std::move(inbox.front());
  inbox.pop_front();
  ++processed;
  answered_.reset();
  std::visit([&](const auto& it) { Take(it); }, message);
  return answered_;
}

void ModelClient::Confirm() {
  confirmed = processed;
  outbox.push_back({StoreConfirm{processed}});
}

uint64_t ModelClient::Holds(const std::string& key) const {
  const auto it = held.find(key);
  return it == held.end() ? 0 : it->second.version.revision;
}

uint64_t ModelClient::Keeps(const std::string& key) const {
  const bool drops = std::any_of(inbox.begin(), inbox.end(), [&](const StoreResponse& message) {
    const auto* drop = std::get_if<StoreDrop>(&message);
    return drop != nullptr && drop->key == key;
  });
  return drops ? 0 : Holds(key);
}

void ModelClient::NoteRevision(uint64_t revision) { highest_ = std::max(highest_, revision); }

void ModelClient::Take(const StoreClients& news) {
  joined_.insert(news.joined.begin(), news.joined.end());
  joined_.insert(news.lost.begin(), news.lost.end());
  lost_.insert(news.lost.begin(), news.lost.end());
}

void ModelClient::Take(const StoreAnswer& answer) {
  was_served_ = true;
  NoteRevision(answer.revision);
  cancelled_.erase(answer.operation);
  if (watches.erase(answer.operation) > 0) return;
  const auto it = unanswered.find(answer.operation);
  ASSERT_TRUE(it != unanswered.end()) << "two answers to operation " << answer.operation;
  answered_ = {it->second, answer};
  unanswered.erase(it);
}

void ModelClient::Take(const StoreHold& hold) {
  was_served_ = true;
  NoteRevision(hold.version.revision);
  Held& it = held[hold.key];
  if (const auto* entry = std::get_if<std::shared_ptr<const StoreEntry>>(&hold.content)) {
    it.entry = **entry;
    if (hold.value_of_operation != 0) {
      // The wire leaves this value out: the client takes the one that it has sent.
      const auto operation = unanswered.find(hold.value_of_operation);
      ASSERT_TRUE(operation != unanswered.end());
      const auto* set = std::get_if<StoreSet>(&operation->second.what);
      it.entry.content =
          set != nullptr ? set->value : std::get<StoreCompareAndSet>(operation->second.what).value;
    }
  } else {
    const StoreChange& change = *std::get<std::shared_ptr<const StoreChange>>(hold.content);
    ASSERT_EQ(it.version.revision, change.base_revision) << "of key " << hold.key;
    Apply(change, &it.entry);
  }
  it.version = hold.version;
}

void ModelClient::Take(const StoreDrop& drop) {
  if (Holds(drop.key) <= drop.revision) held.erase(drop.key);
}

void ModelClient::Take(const StoreFetch& fetch) {
  StoreEntries entries;
  for (const std::string& key : fetch.keys) {
    FetchedStoreEntry entry{key, {}, {}};
    if (const auto it = held.find(key); it != held.end()) {
      entry.version = it->second.version;
      entry.entry = it->second.entry;
    }
    entries.entries.push_back(entry);
    if (entries.entries.size() == 2) outbox.push_back({std::exchange(entries, {})});
  }
  outbox.push_back({entries});
}

void ModelClient::Take(const StoreWatchEvent& event) {
  was_served_ = true;
  NoteRevision(event.revision);
  const auto it = watches.find(event.watch);
  ASSERT_TRUE(it != watches.end());
  ASSERT_GT(event.revision, it->second.after.value_or(0)) << "events go back";
  it->second.after = event.revision;
  if (std::holds_alternative<StoreTombstone>(event.state)) {
    it->second.keys.erase(event.key);
  } else {
    it->second.keys[event.key] = event.revision;
  }
}

void ModelClient::Take(const StoreWatchSynced& synced) {
  was_served_ = true;
  NoteRevision(synced.revision);
  const auto it = watches.find(synced.watch);
  ASSERT_TRUE(it != watches.end());
  listed_.insert(synced.keys.begin(), synced.keys.end());
  if (synced.more) return;
  for (auto key = it->second.keys.begin(); key != it->second.keys.end();) {
    const bool gone = key->second <= synced.revision && listed_.count(key->first) == 0;
    key = gone ? it->second.keys.erase(key) : std::next(key);
  }
  listed_.clear();
  it->second.after = std::max(it->second.after.value_or(0), synced.revision);
}

}  // namespace muster::core::store
