#ifndef MUSTER_SERVER_CORE_STORE_WATCHES_H_
#define MUSTER_SERVER_CORE_STORE_WATCHES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/core/store/context.h"
#include "server/core/store/placement.h"

namespace muster::core::store {

// The watched prefixes, and the events that wait. Events of a watch go out in the order of their
// revisions, so that its client can resume from any of them. An event waits until a holder has
// confirmed the change (K5), and until its client reads what it gets. Meanwhile a later change of
// the same key takes its place.
class Watches {
 public:
  Watches(Context* context, const Slots* slots, const Placement* placement)
      : context_(*context), slots_(*slots), placement_(*placement) {}

  void Begin(Client* client, uint64_t id, const StoreWatch& watch);
  // Returns false if the client has no such watch.
  bool End(Client* client, uint64_t id);
  void RemoveAll(const Client* client);
  void NoteChange(const Slot& slot);
  // Sends the events that can be sent.
  void SendEvents();
  size_t size() const { return watches_.size(); }

 private:
  struct Watch {
    Client* client = nullptr;
    uint64_t id = 0;
    std::string prefix;
    std::map<uint64_t, std::string> pending;      // keys by revision
    std::map<std::string, uint64_t> revision_of;  // of pending keys
    std::optional<StoreWatchSynced> synced;       // until it is sent
  };

  void Add(Watch* watch, const std::string& key, uint64_t revision) const;
  void SendEvents(Watch* watch);
  void SendSynced(Watch* watch);
  StoreWatchEvent MakeEvent(const Watch& watch, const std::string& key, uint64_t revision) const;

  Context& context_;
  const Slots& slots_;
  const Placement& placement_;
  std::vector<Watch> watches_;
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_WATCHES_H_
