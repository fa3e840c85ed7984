#include "server/core/store/slots.h"

#include <algorithm>
#include <utility>

#include "server/core/store/clients.h"
#include "server/core/store/content.h"

namespace muster::core::store {

Holding* Slot::Find(const Client* client) {
  for (Holding& holding : holdings) {
    if (holding.client == client) return &holding;
  }
  return nullptr;
}

Holding* Slot::Hold(Client* client) {
  if (Holding* found = Find(client)) return found;
  holdings.emplace_back();
  holdings.back().client = client;
  client->slots.insert(this);
  return &holdings.back();
}

void Slot::Remove(const Client* client) {
  holdings.erase(std::remove_if(holdings.begin(), holdings.end(),
                                [&](const Holding& h) { return h.client == client; }),
                 holdings.end());
}

bool Slot::exists() const { return entry.has_value() && !IsTombstone(entry->content); }

Slot* Slots::Find(const std::string& key) const {
  const auto it = slots_.find(key);
  return it == slots_.end() ? nullptr : it->second.get();
}

Slot* Slots::FindOrAdd(const std::string& key) {
  std::unique_ptr<Slot>& slot = slots_[key];
  if (slot == nullptr) slot = std::make_unique<Slot>(key, budget_);
  return slot.get();
}

void Slots::EraseIfUnused(Slot* slot) {
  if (slot->entry || !slot->holdings.empty() || !slot->waiting.empty() || !slot->unsafe.empty() ||
      slot->is_due) {
    return;
  }
  slots_.erase(slots_.find(slot->key));
}

void Slots::SetEntry(Slot* slot, StoreEntry entry, StoreVersion version) {
  existing_ -= slot->exists();
  entries_ += !slot->entry;
  slot->entry = std::move(entry);
  slot->version = version;
  slot->snapshot.reset();
  slot->changes.clear();
  slot->acknowledged.clear();
  existing_ += slot->exists();
  Grow(slot, static_cast<int64_t>(SizeOf(slot->key, *slot->entry) - slot->charge.bytes()));
}

void Slots::ForgetEntry(Slot* slot) {
  existing_ -= slot->exists();
  --entries_;
  slot->entry.reset();
  slot->version = {};
  slot->snapshot.reset();
  slot->changes.clear();
  slot->acknowledged.clear();
  Grow(slot, -static_cast<int64_t>(slot->charge.bytes()));
}

void Slots::Grow(Slot* slot, int64_t by) {
  bytes_ += by;
  slot->charge.Set(slot->charge.bytes() + by);
}

void Slots::SetDue(Slot* slot) {
  if (std::exchange(slot->is_due, true)) return;
  due_.push_back(slot);
}

Slot* Slots::TakeDue() {
  if (due_.empty()) return nullptr;
  Slot* const slot = due_.front();
  due_.pop_front();
  slot->is_due = false;
  return slot;
}

}  // namespace muster::core::store
