#ifndef MUSTER_SERVER_CORE_LEASES_KEPT_RESULTS_H_
#define MUSTER_SERVER_CORE_LEASES_KEPT_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/lease_key.h"

namespace muster::core {

// The outcomes of leased work that are kept for later callers, in the order in which they go when
// there must be room.
//
// The publisher whose outcomes take the most room gives up its outcome that was asked for least
// recently. So a member that publishes one name after another makes room at its own expense: the
// outcomes of other members stay, unless these take as much room. And a name that members ask for
// again and again, as newcomers of an elastic job do, outlives names that no member has asked for
// since.
//
// Keys are named by their address, which must stay valid until Remove(). Every call is logarithmic.
class KeptResults {
 public:
  void Add(const LeaseKey* key, const Incarnation& publisher, uint64_t bytes) {
    Insert(key, publisher, bytes, ++newest_);
  }
  // Adds an outcome that is known from a claim. It counts as older than all that are kept.
  void AddOldest(const LeaseKey* key, const Incarnation& claimant, uint64_t bytes) {
    Insert(key, claimant, bytes, --oldest_);
  }
  // Notes that a caller has asked for the outcome, which must be kept here.
  void Use(const LeaseKey* key);
  // Removes an outcome, which must be kept here.
  void Remove(const LeaseKey* key);

  bool empty() const { return kept_.empty(); }
  uint64_t bytes() const { return bytes_; }

  // Return the outcome to forget first in order to make room for names, or for bytes. Must not be
  // empty().
  const LeaseKey* FirstToGoForNames() const { return OldestOf(by_names_); }
  const LeaseKey* FirstToGoForBytes() const { return OldestOf(by_bytes_); }

 private:
  struct Kept {
    Incarnation publisher;
    uint64_t bytes = 0;
    int64_t used = 0;  // larger: more recently
  };
  struct Publisher {
    std::map<int64_t, const LeaseKey*> by_use;
    uint64_t bytes = 0;
  };
  // Publishers by the room that they take, the smallest first.
  using Ranking = std::set<std::pair<uint64_t, Incarnation>>;

  void Insert(const LeaseKey* key, const Incarnation& publisher, uint64_t bytes, int64_t used);
  const LeaseKey* OldestOf(const Ranking& ranking) const;
  void Rank(const Incarnation& id, const Publisher& publisher);
  void Unrank(const Incarnation& id, const Publisher& publisher);

  absl::flat_hash_map<const LeaseKey*, Kept> kept_;
  std::map<Incarnation, Publisher> publishers_;
  Ranking by_names_;
  Ranking by_bytes_;
  uint64_t bytes_ = 0;
  int64_t newest_ = 0;
  int64_t oldest_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_LEASES_KEPT_RESULTS_H_
