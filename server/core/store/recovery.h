#ifndef MUSTER_SERVER_CORE_STORE_RECOVERY_H_
#define MUSTER_SERVER_CORE_STORE_RECOVERY_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/store/context.h"
#include "server/core/store/operations.h"
#include "server/core/store/placement.h"
#include "server/core/support/deadlines.h"

namespace muster::core::store {

// How a new daemon comes to know the store (K12, K13). It gathers claims until all clients of the
// merged list are here, and then fetches the latest version of each entry from a claimant.
//
// A client that was served has a list of all clients that were (K11). The others know less. If only
// others come, the daemon waits until it is old enough for served clients to have come back, or
// until all ranks of the job are here.
class Recovery {
 public:
  Recovery(Context* context, Slots* slots, Placement* placement, Operations* operations)
      : context_(*context), slots_(*slots), placement_(*placement), operations_(*operations) {}

  // Notes the claim of a client that has just attached.
  void NoteClaim(const Client& client);
  // Notes that a client has no stream any more.
  void NoteDetached(Client* client) { asked_.erase(client); }
  void NoteLost(Client* client) { asked_.erase(client); }

  // Does what has become possible. Returns whether the recovery has just ended. Adds clients that
  // have to be lost to `missing`.
  bool Advance(std::vector<Client*>* missing);
  // Takes entries that a client has sent. Returns an error if it was not asked for them.
  absl::Status Receive(Client* client, const StoreEntries& entries);
  // Returns a client that has not sent an entry in time, or null.
  Client* TakeLate();
  Time NextDeadline() const;

 private:
  // The keys that a client is asked for, in order.
  struct Asked {
    std::set<std::string> keys;
    Time until;
  };

  bool HasWaited() const;
  bool AllAreBack() const;
  void BeginFetching();
  void Fetch();
  Client* ChooseClaimant(Slot* slot) const;
  void End();

  Context& context_;
  Slots& slots_;
  Placement& placement_;
  Operations& operations_;
  Time first_claim_ = absl::InfiniteFuture();
  std::set<uint32_t> new_ranks_;    // ranks whose clients no daemon has served
  bool was_served_ = false;         // a client has come that was served before
  std::set<std::string> wanted_;    // keys whose entries are missing
  std::map<Client*, Asked> asked_;  // only looked up: its order means nothing
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_RECOVERY_H_
