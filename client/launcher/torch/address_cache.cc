#include "client/launcher/torch/address_cache.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "client/src/protocol/store/messages/store_calls.h"

namespace muster::launcher::torch {
namespace {

constexpr char kGloo[] = "//cpu//";

bool Waits(const v1::StoreOperation& operation) {
  return !operation.has_wait_timeout() || operation.wait_timeout().seconds() > 0 ||
         operation.wait_timeout().nanos() > 0;
}

}  // namespace

std::optional<absl::string_view> AddressCache::GroupOf(absl::string_view key) {
  const size_t slash = key.rfind('/');
  if (slash == absl::string_view::npos || slash + 1 == key.size()) return std::nullopt;
  const absl::string_view number = key.substr(slash + 1);
  if (!std::all_of(number.begin(), number.end(), absl::ascii_isdigit)) return std::nullopt;
  const absl::string_view group = key.substr(0, slash + 1);
  return absl::StrContains(group, kGloo) ? std::make_optional(group) : std::nullopt;
}

// ---- Operations ----

void AddressCache::Begin(uint64_t id, v1::StoreOperation operation) {
  // A wait for several keys, a list or a count concerns no single key.
  const bool single =
      !off_ && !operation.has_wait() && !operation.has_list() && !operation.has_count();
  const std::string key = internal::KeyOf(operation);
  const auto prefix = single ? GroupOf(key) : std::nullopt;
  Group* const group = prefix ? GroupWith(*prefix) : nullptr;
  if (group == nullptr) return store_->Begin(id, std::move(operation));
  Address* const address = &group->addresses[key];
  if (operation.has_get()) return BeginGet(id, key, std::move(operation), address);
  if (internal::MayChange(operation)) ++address->changes;
  BeginInStore(id, key, std::move(operation));
}

// The store runs a launcher's operations in order. So a get that follows a change of this node
// waits for it there.
void AddressCache::BeginGet(uint64_t id, const std::string& key, v1::StoreOperation operation,
                            Address* address) {
  if (address->changes > 0) return BeginInStore(id, key, std::move(operation));
  if (address->value) return End(id, *address);
  if (!Waits(operation)) return BeginInStore(id, key, std::move(operation));
  address->waiting.emplace(id, std::move(operation));
  waiting_.emplace(id, key);
  Advance(key, address);
}

void AddressCache::BeginInStore(uint64_t id, const std::string& key, v1::StoreOperation operation) {
  InStore in_store{key, std::nullopt, internal::MayChange(operation)};
  if (operation.has_set()) in_store.value = operation.set().value();
  in_store_.emplace(id, std::move(in_store));
  store_->Begin(id, std::move(operation));
}

void AddressCache::Cancel(uint64_t id) {
  const auto waiting = waiting_.extract(id);
  if (waiting.empty()) return store_->Cancel(id);
  Find(waiting.mapped())->waiting.erase(id);
  ended_.push_back({id, absl::CancelledError("the operation was given up")});
}

std::vector<KeyStore::Ended> AddressCache::TakeEnded() {
  for (Ended& ended : store_->TakeEnded()) {
    Note(ended.id, ended.answer);
    ended_.push_back(std::move(ended));
  }
  for (const WatchedKeyStore::Event& event : store_->TakeEvents()) Take(event);
  return std::exchange(ended_, {});
}

// ---- Addresses ----

void AddressCache::Note(uint64_t id, const absl::StatusOr<v1::StoreAnswer>& answer) {
  const auto found = in_store_.extract(id);
  if (found.empty()) return;
  const InStore& ended = found.mapped();
  Address* const address = Find(ended.key);
  if (address == nullptr) return;
  if (address->asked == id) address->asked = 0;
  if (ended.changes) {
    --address->changes;
    // A change that failed may have been made. Only the store knows.
    if (!answer.ok()) address->value.reset();
  }
  if (answer.ok() && answer->revision() > 0) {
    const bool reads = !ended.changes && answer->has_value();
    const std::string* const value = reads         ? &answer->value()
                                     : ended.value ? &*ended.value
                                                   : nullptr;
    Learn(answer->revision(), value, address);
  }
  Advance(ended.key, address);
}

void AddressCache::Take(const WatchedKeyStore::Event& event) {
  if (!event.event.ok()) return TurnOff();
  const auto group = std::find_if(groups_.begin(), groups_.end(), [&event](const Group& each) {
    return each.prefix == event.prefix;
  });
  if (group == groups_.end()) return;
  const std::optional<absl::string_view> prefix = GroupOf(event.event->key());
  if (!prefix || *prefix != group->prefix) return;
  Address* const address = &group->addresses[event.event->key()];
  const bool has_value = event.event->has_value() && !event.event->deleted();
  Learn(event.event->revision(), has_value ? &event.event->value() : nullptr, address);
  Advance(event.event->key(), address);
}

// The store refuses watches, so each get is the store's from now on.
void AddressCache::TurnOff() {
  off_ = true;
  for (Group& group : std::exchange(groups_, {})) {
    for (auto& [key, address] : group.addresses) {
      for (auto& [id, operation] : address.waiting) store_->Begin(id, std::move(operation));
    }
  }
  waiting_.clear();
  in_store_.clear();
}

void AddressCache::Learn(uint64_t revision, const std::string* value, Address* address) {
  const bool later = revision > address->revision;
  if (!later && (revision < address->revision || address->value)) return;
  address->revision = revision;
  address->value.reset();
  if (value != nullptr && value->size() <= kMaxValueBytes) address->value = *value;
}

void AddressCache::Advance(const std::string& key, Address* address) {
  if (address->value && address->changes == 0) {
    for (const auto& [id, operation] : std::exchange(address->waiting, {})) {
      waiting_.erase(id);
      End(id, *address);
    }
  }
  if (address->asked != 0 || address->waiting.empty()) return;
  const auto first = address->waiting.extract(address->waiting.begin());
  waiting_.erase(first.key());
  address->asked = first.key();
  BeginInStore(first.key(), key, std::move(first.mapped()));
}

void AddressCache::End(uint64_t id, const Address& address) {
  v1::StoreAnswer answer;
  answer.set_revision(address.revision);
  answer.set_value(*address.value);
  ended_.push_back({id, std::move(answer)});
}

// ---- Groups ----

AddressCache::Group* AddressCache::GroupWith(absl::string_view prefix) {
  for (Group& group : groups_) {
    if (group.prefix == prefix) return &group;
  }
  if (groups_.size() >= kMaxGroups && !MakeRoom()) return nullptr;
  groups_.push_back({std::string(prefix), {}});
  store_->Watch(groups_.back().prefix);
  return &groups_.back();
}

AddressCache::Address* AddressCache::Find(const std::string& key) {
  const absl::string_view prefix = *GroupOf(key);
  for (Group& group : groups_) {
    if (group.prefix != prefix) continue;
    const auto address = group.addresses.find(key);
    return address == group.addresses.end() ? nullptr : &address->second;
  }
  return nullptr;
}

// Groups of operations in progress stay.
bool AddressCache::MakeRoom() {
  const auto oldest = std::find_if(groups_.begin(), groups_.end(), [](const Group& group) {
    return std::all_of(group.addresses.begin(), group.addresses.end(),
                       [](const auto& each) { return each.second.idle(); });
  });
  if (oldest == groups_.end()) return false;
  store_->EndWatch(oldest->prefix);
  groups_.erase(oldest);
  return true;
}

}  // namespace muster::launcher::torch
