#ifndef MUSTER_SERVER_CORE_KEPT_RESULTS_H_
#define MUSTER_SERVER_CORE_KEPT_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/core/lease_key.h"
#include "server/core/vocabulary.h"

namespace muster::core {

// Which outcomes of leased work are kept for those who ask later, and which is to go first when
// there must be room.
//
// The publisher that takes up the most gives up the outcome that was asked for least recently of
// all of its own. So a member that publishes one name after the other makes room at its own
// expense: what the others have published stays, unless they keep as much as it does. And a name
// that members ask for again and again, as newcomers of an elastic job do, outlives those that
// nobody has asked for since.
//
// Keys are named by their address, which must stay valid until Remove(). Every call is logarithmic.
class KeptResults {
 public:
  void Add(const LeaseKey* key, const Incarnation& publisher, uint64_t bytes) {
    Insert(key, publisher, bytes, ++newest_);
  }
  // The same of an outcome that is known from a claim: it counts as older than all that are kept.
  void AddOldest(const LeaseKey* key, const Incarnation& claimant, uint64_t bytes) {
    Insert(key, claimant, bytes, --oldest_);
  }
  // Somebody has asked for it. It must be kept.
  void Use(const LeaseKey* key);
  // Must be kept.
  void Remove(const LeaseKey* key);

  bool empty() const { return kept_.empty(); }
  uint64_t bytes() const { return bytes_; }

  // Whom to forget for the sake of names, and for the sake of bytes. Not if empty().
  const LeaseKey* FirstToGoForNames() const { return OldestOf(by_names_); }
  const LeaseKey* FirstToGoForBytes() const { return OldestOf(by_bytes_); }

 private:
  struct Kept {
    Incarnation publisher;
    uint64_t bytes = 0;
    int64_t used = 0;  // a larger number: more recently
  };
  struct Publisher {
    std::map<int64_t, const LeaseKey*> by_use;
    uint64_t bytes = 0;
  };
  // Publishers by what they take up, the smallest first.
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

#endif  // MUSTER_SERVER_CORE_KEPT_RESULTS_H_
