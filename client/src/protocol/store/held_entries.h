#ifndef MUSTER_CLIENT_SRC_PROTOCOL_STORE_HELD_ENTRIES_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_STORE_HELD_ENTRIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "muster/v1/store.pb.h"

namespace muster::internal {

// An entry, or a tombstone.
struct HeldEntry {
  uint64_t revision = 0;
  uint64_t daemon_instance = 0;  // the daemon that made the revision
  v1::StoreEntry entry;
};

// The entries that this client holds for the daemon, as keeper or with the copy. After a restart,
// the daemon has nothing else. Pure: no I/O, no threads, no clock.
class HeldEntries {
 public:
  // Holds the entry from now on, unless a later revision is held. Returns false, and holds what it
  // held before, if the change is not one of the held revision. The client then must not confirm
  // it.
  bool Take(v1::StoreHold hold);
  // Drops the entry, unless a later revision is held (K7).
  void Take(const v1::StoreDrop& drop);

  // Notes a revision that the daemon has given (K1).
  void NoteRevision(uint64_t revision);
  // Returns the highest revision that this client has heard of.
  uint64_t highest_revision() const { return highest_revision_; }

  // Returns the claim of all entries, in parts, the last one marked. There is at least one part.
  std::vector<v1::StoreClaim> Claim() const;
  // Returns the entries that the daemon asks for, in messages of about a MiB.
  std::vector<v1::StoreEntries> Fetch(const v1::StoreFetch& fetch) const;
  const std::map<std::string, HeldEntry>& entries() const { return entries_; }

 private:
  std::map<std::string, HeldEntry> entries_;  // by key
  uint64_t highest_revision_ = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_STORE_HELD_ENTRIES_H_
