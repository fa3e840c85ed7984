#include "server/core/store/watches.h"

#include <algorithm>
#include <utility>

#include "common/rpc/overloaded.h"
#include "server/core/store/content.h"

namespace muster::core::store {

namespace {

// The bytes of keys in one message.
constexpr uint64_t kMostKeys = 1 << 20;

}  // namespace

void Watches::Begin(Client* client, uint64_t id, const StoreWatch& request) {
  Watch watch{client, id, request.prefix, {}, {}, StoreWatchSynced{id, context_.latest, {}}};
  if (request.after_revision) {
    slots_.ForEach(request.prefix, "", [&](const Slot* slot) {
      if (!slot->entry) return true;
      if (slot->exists()) watch.synced->keys.push_back(slot->key);
      const uint64_t revision = slot->version.revision;
      if (revision > *request.after_revision && (slot->exists() || *request.after_revision > 0)) {
        Add(&watch, slot->key, revision);
      }
      return true;
    });
  }
  watches_.push_back(std::move(watch));
}

bool Watches::End(Client* client, uint64_t id) {
  const auto it = std::find_if(watches_.begin(), watches_.end(), [&](const Watch& watch) {
    return watch.client == client && watch.id == id;
  });
  if (it == watches_.end()) return false;
  watches_.erase(it);
  return true;
}

void Watches::RemoveAll(const Client* client) {
  watches_.erase(std::remove_if(watches_.begin(), watches_.end(),
                                [&](const Watch& watch) { return watch.client == client; }),
                 watches_.end());
}

void Watches::NoteChange(const Slot& slot) {
  for (Watch& watch : watches_) {
    if (slot.key.compare(0, watch.prefix.size(), watch.prefix) == 0) {
      Add(&watch, slot.key, slot.version.revision);
    }
  }
}

void Watches::Add(Watch* watch, const std::string& key, uint64_t revision) const {
  uint64_t& its = watch->revision_of[key];
  if (its != 0) watch->pending.erase(its);
  its = revision;
  watch->pending[revision] = key;
}

void Watches::SendEvents() {
  for (Watch& watch : watches_) SendEvents(&watch);
}

void Watches::SendEvents(Watch* watch) {
  while (watch->client->HasRoom()) {
    const auto next = watch->pending.begin();
    const bool has_next = next != watch->pending.end();
    if (watch->synced && (!has_next || next->first > watch->synced->revision)) {
      SendSynced(watch);
      continue;
    }
    if (!has_next) return;
    const auto [revision, key] = *next;
    const Slot* const slot = slots_.Find(key);
    if (slot != nullptr && !placement_.IsSafe(*slot, revision)) return;
    watch->pending.erase(next);
    watch->revision_of.erase(key);
    StoreWatchEvent event = MakeEvent(*watch, key, revision);
    const auto* value = std::get_if<Bytes>(&event.state);
    const uint64_t bytes = key.size() + (value == nullptr ? 0 : (*value)->size());
    context_.Send(watch->client, std::move(event), SentOther(), bytes);
  }
}

void Watches::SendSynced(Watch* watch) {
  StoreWatchSynced all = *std::exchange(watch->synced, std::nullopt);
  StoreWatchSynced part{all.watch, all.revision, {}};
  uint64_t bytes = 0;
  for (std::string& key : all.keys) {
    if (bytes > kMostKeys) {
      part.more = true;
      context_.Send(watch->client, std::exchange(part, {all.watch, all.revision, {}}), SentOther(),
                    std::exchange(bytes, 0));
    }
    bytes += key.size() + 8;
    part.keys.push_back(std::move(key));
  }
  context_.Send(watch->client, std::move(part), SentOther(), bytes);
}

StoreWatchEvent Watches::MakeEvent(const Watch& watch, const std::string& key,
                                   uint64_t revision) const {
  StoreWatchEvent event{watch.id, key, revision, StoreTombstone()};
  const Slot* const slot = slots_.Find(key);
  if (slot == nullptr || !slot->entry) return event;
  std::visit(Overloaded{
                 [](const StoreTombstone&) {},
                 [&](const Bytes& value) { event.state = value; },
                 [&](const StoreQueue& queue) {
                   event.state = StoreWatchEvent::Elements{queue.elements.size()};
                 },
                 [&](const StoreArrivals& now) {
                   event.state =
                       StoreWatchEvent::Arrivals{now.arrived + now.count - now.complete_at};
                 },
             },
             slot->entry->content);
  return event;
}

}  // namespace muster::core::store
