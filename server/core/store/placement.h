#ifndef MUSTER_SERVER_CORE_STORE_PLACEMENT_H_
#define MUSTER_SERVER_CORE_STORE_PLACEMENT_H_

#include <cstdint>
#include <set>
#include <string>

#include "server/core/store/context.h"
#include "server/core/store/slots.h"

namespace muster::core::store {

// Which clients hold an entry: its keeper, the copy's holder, and clients that are to drop an older
// revision (K4 to K9).
class Placement {
 public:
  Placement(Context* context, Slots* slots) : context_(*context), slots_(*slots) {}

  // Makes the client the keeper of an entry that it has changed. A change that leaves the keeper
  // as it is does so only if there is none.
  void NoteChange(Slot* slot, Client* by, bool leaves_keeper);
  // Notes what a client claims on a new stream, in place of all that was known of it.
  void NoteClaim(Client* client, const StoreClaim& claim);
  // Makes an entry that a client has sent the daemon's.
  void Adopt(Slot* slot, Client* keeper, StoreEntry entry);
  // Forgets a client that is lost (K8).
  void Remove(Client* client);
  // Looks again at entries that have no copy, because another client can have one.
  void NoteNewClient();

  // Sends the entry to a holder that does not have it. `value_of_operation` as in StoreHold.
  void SendHold(Slot* slot, Client* client, uint64_t value_of_operation = 0);
  void Confirm(Client* client, uint64_t position, const SentHold& hold);
  void Confirm(Client* client, uint64_t position, const SentDrop& drop);

  // Does what has become possible: chooses holders, sends holds and drops, forgets a tombstone.
  void Settle(Slot* slot);
  // Returns whether an answer may depend on this revision of the entry (K5).
  bool IsSafe(const Slot& slot, uint64_t revision) const;

 private:
  bool IsHere(const Client* client) const { return client != nullptr && client->attached(); }
  bool IsHolder(const Slot& slot, const Client* client) const {
    return slot.keeper == client || slot.copy == client;
  }
  uint64_t ConfirmedBy(const Slot& slot, const Client* client) const;
  bool IsPlaced(const Slot& slot) const;
  bool MayDrop(const Slot& slot) const;
  bool MayForget(const Slot& slot) const;
  void ChooseHolders(Slot* slot);
  void SetHolder(Slot* slot, Client** place, Client* client);
  void OfferHold(Slot* slot, Client* client);
  void SendDrops(Slot* slot);
  void RemoveHolding(Slot* slot, Client* client);
  // Takes the slot out of the client's set if the client has nothing to do with it any more.
  void Unlink(Slot* slot, Client* client);

  Context& context_;
  Slots& slots_;
  std::set<std::string> without_copy_;  // keys of entries that lack a holder
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_PLACEMENT_H_
