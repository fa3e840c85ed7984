#ifndef MUSTER_SERVER_CORE_STORE_SLOTS_H_
#define MUSTER_SERVER_CORE_STORE_SLOTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/store_messages.h"
#include "server/core/support/byte_budget.h"

namespace muster::core::store {

struct Client;
struct ParkedOperation;

// The version of a key that one client may hold.
struct Holding {
  Client* client = nullptr;
  // The latest version that was sent to the client or claimed by it. It may hold this or less.
  StoreVersion may_hold;
  // The revision that it certainly holds; 0: none is certain.
  uint64_t confirmed = 0;
  // Positions of the latest hold and drop on its stream; 0: none.
  uint64_t hold_position = 0;
  uint64_t drop_position = 0;
};

// All that the daemon knows of one key.
struct Slot {
  Slot(std::string its_key, ByteBudget* budget) : key(std::move(its_key)), charge(budget) {}
  // Returns null if the client holds nothing.
  Holding* Find(const Client* client);
  // Returns the client's holding, and adds it if it is missing.
  Holding* Hold(Client* client);
  void Remove(const Client* client);
  bool exists() const;  // whether the key has something

  const std::string key;
  std::optional<StoreEntry> entry;  // a tombstone, too
  StoreVersion version;             // of the entry
  Client* keeper = nullptr;
  Client* copy = nullptr;
  std::vector<Holding> holdings;
  // Changes since the holders were last told, and results acknowledged since the latest change.
  std::vector<std::shared_ptr<const StoreChange>> changes;
  std::vector<StoreOperationId> acknowledged;
  std::shared_ptr<const StoreEntry> snapshot;  // for holders; null until one is needed
  bool wakes = false;                          // waiting operations are to be looked at again
  // Operations by age: `waiting` until the key changes, or `unsafe` until a holder of the entry
  // confirms what their answers depend on (K5).
  std::map<uint64_t, ParkedOperation*> waiting;
  std::map<uint64_t, ParkedOperation*> unsafe;
  ByteCharge charge;
  bool is_due = false;
};

struct BySlotKey {
  bool operator()(const Slot* a, const Slot* b) const { return a->key < b->key; }
};
using SlotSet = std::set<Slot*, BySlotKey>;

// The keys, and which of them have to be looked at in this step.
class Slots {
 public:
  explicit Slots(ByteBudget* budget) : budget_(budget) {}
  // Returns null if nothing is known of the key.
  Slot* Find(const std::string& key) const;
  Slot* FindOrAdd(const std::string& key);
  // Forgets a slot of which nothing is left to know.
  void EraseIfUnused(Slot* slot);
  const std::map<std::string, std::unique_ptr<Slot>>& all() const { return slots_; }
  // Visits the slots whose keys have the prefix, from `after` on, until `visit` returns false.
  template <class Visit>
  void ForEach(const std::string& prefix, const std::string& after, const Visit& visit) const {
    for (auto it = slots_.lower_bound(std::max(prefix, after)); it != slots_.end(); ++it) {
      if (it->first.compare(0, prefix.size(), prefix) != 0) return;
      if ((after.empty() || it->first > after) && !visit(it->second.get())) return;
    }
  }

  // Replaces the entry and its number of bytes, and counts entries.
  void SetEntry(Slot* slot, StoreEntry entry, StoreVersion version);
  void ForgetEntry(Slot* slot);
  // Counts bytes that an entry has gained or lost.
  void Grow(Slot* slot, int64_t by);
  // Returns the number of entries, tombstones included, and of keys that exist.
  size_t entries() const { return entries_; }
  size_t existing() const { return existing_; }
  uint64_t bytes() const { return bytes_; }

  // Lets the slot be looked at before the step ends.
  void SetDue(Slot* slot);
  Slot* TakeDue();

 private:
  ByteBudget* const budget_;
  std::map<std::string, std::unique_ptr<Slot>> slots_;
  std::deque<Slot*> due_;
  size_t entries_ = 0;
  size_t existing_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_SLOTS_H_
