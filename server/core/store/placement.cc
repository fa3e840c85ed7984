#include "server/core/store/placement.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "server/core/store/content.h"

namespace muster::core::store {

void Placement::NoteChange(Slot* slot, Client* by, bool leaves_keeper) {
  slots_.SetDue(slot);
  if (slot->keeper == by || (leaves_keeper && slot->keeper != nullptr)) return;
  Client* const former = slot->keeper;
  if (slot->copy == by) SetHolder(slot, &slot->copy, former);
  SetHolder(slot, &slot->keeper, by);
}

void Placement::NoteClaim(Client* client, const StoreClaim& claim) {
  const SlotSet before = client->slots;
  for (Slot* const slot : before) RemoveHolding(slot, client);
  for (const ClaimedStoreEntry& entry : claim.entries) {
    Slot* const slot = slots_.FindOrAdd(entry.key);
    *slot->Hold(client) = {client, entry.version, entry.version.revision};
    slots_.SetDue(slot);
  }
  for (Slot* const slot : before) slots_.SetDue(slot);
}

void Placement::Adopt(Slot* slot, Client* keeper, StoreEntry entry) {
  const StoreVersion version = slot->Find(keeper)->may_hold;
  SetHolder(slot, &slot->keeper, keeper);
  for (Holding& holding : slot->holdings) {
    if (holding.client == keeper) continue;
    if (holding.may_hold == version) {
      SetHolder(slot, &slot->copy, holding.client);
    } else if (holding.may_hold.revision == version.revision) {
      // Another daemon gave the same revision to another change, which no survivor has seen.
      holding.confirmed = holding.may_hold.revision = version.revision - 1;
    }
  }
  slots_.SetEntry(slot, std::move(entry), version);
  slots_.SetDue(slot);
}

void Placement::Remove(Client* client) {
  while (!client->slots.empty()) {
    Slot* const slot = *client->slots.begin();
    if (slot->keeper == client) {
      slot->keeper = std::exchange(slot->copy, nullptr);
    } else if (slot->copy == client) {
      slot->copy = nullptr;
    }
    RemoveHolding(slot, client);
    client->slots.erase(slot);
    slots_.SetDue(slot);
  }
}

void Placement::NoteNewClient() {
  for (const std::string& key : std::exchange(without_copy_, {})) {
    if (Slot* const slot = slots_.Find(key)) slots_.SetDue(slot);
  }
}

void Placement::SetHolder(Slot* slot, Client** place, Client* client) {
  Client* const former = std::exchange(*place, client);
  if (client != nullptr) client->slots.insert(slot);
  if (former != nullptr) Unlink(slot, former);
}

void Placement::RemoveHolding(Slot* slot, Client* client) {
  slot->Remove(client);
  Unlink(slot, client);
}

void Placement::Unlink(Slot* slot, Client* client) {
  if (!IsHolder(*slot, client) && slot->Find(client) == nullptr) client->slots.erase(slot);
}

void Placement::ChooseHolders(Slot* slot) {
  if (slot->keeper == nullptr) {
    SetHolder(slot, &slot->keeper, context_.clients.ChooseCopy(*slot, nullptr));
  }
  if (slot->keeper != nullptr && slot->copy == nullptr) {
    SetHolder(slot, &slot->copy, context_.clients.ChooseCopy(*slot, slot->keeper));
  }
  if (slot->copy == nullptr) without_copy_.insert(slot->key);
}

uint64_t Placement::ConfirmedBy(const Slot& slot, const Client* client) const {
  for (const Holding& holding : slot.holdings) {
    if (holding.client == client) return holding.confirmed;
  }
  return 0;
}

bool Placement::IsSafe(const Slot& slot, uint64_t revision) const {
  if (!slot.entry || slot.keeper == nullptr) return true;
  const bool kept = ConfirmedBy(slot, slot.keeper) >= revision;
  const bool copied = slot.copy != nullptr && ConfirmedBy(slot, slot.copy) >= revision;
  if (!context_.options.answers_wait_for_copy) return kept || copied;
  return kept && (slot.copy == nullptr || copied);
}

bool Placement::IsPlaced(const Slot& slot) const {
  return slot.keeper == nullptr ||
         (ConfirmedBy(slot, slot.keeper) == slot.version.revision &&
          (slot.copy == nullptr || ConfirmedBy(slot, slot.copy) == slot.version.revision));
}

bool Placement::MayDrop(const Slot& slot) const {
  return !slot.entry || (IsPlaced(slot) && (slot.keeper == nullptr || IsHere(slot.keeper)) &&
                         (slot.copy == nullptr || IsHere(slot.copy)));
}

// Returns whether no client can bring an older revision of a tombstone back (K9).
bool Placement::MayForget(const Slot& slot) const {
  if (!slot.entry || !IsTombstone(slot.entry->content) || !slot.entry->results.empty()) {
    return false;
  }
  if (!IsPlaced(slot)) return false;
  return std::all_of(slot.holdings.begin(), slot.holdings.end(),
                     [&](const Holding& holding) { return IsHolder(slot, holding.client); });
}

void Placement::SendHold(Slot* slot, Client* client, uint64_t value_of_operation) {
  Holding* const holding = slot->Hold(client);
  StoreHold hold{slot->key, slot->version, {}, 0};
  // The first change that the client lacks, if it certainly has what that change was made of.
  auto change = slot->changes.begin();
  if (holding->drop_position == 0 || holding->drop_position < holding->hold_position) {
    while (change != slot->changes.end() &&
           (*change)->base_revision != holding->may_hold.revision) {
      ++change;
    }
  } else {
    change = slot->changes.end();
  }
  if (change == slot->changes.end()) {
    if (slot->snapshot == nullptr) {
      slot->snapshot = std::make_shared<const StoreEntry>(*slot->entry);
    }
    hold.content = slot->snapshot;
    hold.value_of_operation = value_of_operation;
    context_.Send(client, std::move(hold), SentHold{slot, slot->version}, slot->charge.bytes());
  }
  for (; change != slot->changes.end(); ++change) {
    hold.version = {(*change)->result.revision, context_.options.daemon_instance};
    hold.content = *change;
    context_.Send(client, hold, SentHold{slot, hold.version}, SizeOf((*change)->result));
  }
  holding->may_hold = slot->version;
  holding->hold_position = client->sent;
}

void Placement::Confirm(Client* client, uint64_t position, const SentHold& hold) {
  Holding* const holding = hold.slot->Find(client);
  if (position > holding->drop_position) holding->confirmed = hold.version.revision;
  slots_.SetDue(hold.slot);
}

void Placement::Confirm(Client* client, uint64_t position, const SentDrop& drop) {
  if (drop.slot->Find(client)->hold_position < position) RemoveHolding(drop.slot, client);
  slots_.SetDue(drop.slot);
}

// Sends the entry to a holder that lacks it, if the holder is here, all clients know it (K11), and
// it reads what it gets.
void Placement::OfferHold(Slot* slot, Client* client) {
  if (!IsHere(client)) return;
  const Holding* const holding = slot->Find(client);
  if (holding != nullptr && holding->may_hold.revision >= slot->version.revision) return;
  if (client->HasRoom() && context_.clients.IsKnown(*client)) {
    SendHold(slot, client);
  } else {
    client->postponed.insert(slot->key);
  }
}

void Placement::SendDrops(Slot* slot) {
  for (Holding& holding : slot->holdings) {
    Client* const client = holding.client;
    if (IsHolder(*slot, client) || !IsHere(client) || holding.confirmed == 0) continue;
    holding.confirmed = 0;
    context_.Send(client, StoreDrop{slot->key, holding.may_hold.revision}, SentDrop{slot});
    holding.drop_position = client->sent;
  }
}

void Placement::Settle(Slot* slot) {
  if (slot->entry) {
    ChooseHolders(slot);
    OfferHold(slot, slot->keeper);
    if (slot->copy != nullptr) OfferHold(slot, slot->copy);
    slot->changes.clear();
    slot->snapshot.reset();
    if (MayForget(*slot)) {
      SetHolder(slot, &slot->keeper, nullptr);
      SetHolder(slot, &slot->copy, nullptr);
      slots_.ForgetEntry(slot);
    }
  }
  if (MayDrop(*slot)) SendDrops(slot);
}

}  // namespace muster::core::store
