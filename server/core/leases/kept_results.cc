#include "server/core/leases/kept_results.h"

namespace muster::core {

void KeptResults::Insert(const LeaseKey* key, const Incarnation& publisher, uint64_t bytes,
                         int64_t used) {
  Publisher& owner = publishers_[publisher];
  Unrank(publisher, owner);
  owner.by_use[used] = key;
  owner.bytes += bytes;
  Rank(publisher, owner);
  bytes_ += bytes;
  kept_[key] = {publisher, bytes, used};
}

void KeptResults::Use(const LeaseKey* key) {
  Kept& kept = kept_.at(key);
  auto& by_use = publishers_.at(kept.publisher).by_use;
  by_use.erase(kept.used);
  kept.used = ++newest_;
  by_use[kept.used] = key;
}

void KeptResults::Remove(const LeaseKey* key) {
  const auto it = kept_.find(key);
  const auto owner = publishers_.find(it->second.publisher);
  Unrank(owner->first, owner->second);
  owner->second.by_use.erase(it->second.used);
  owner->second.bytes -= it->second.bytes;
  bytes_ -= it->second.bytes;
  kept_.erase(it);
  if (owner->second.by_use.empty()) {
    publishers_.erase(owner);
  } else {
    Rank(owner->first, owner->second);
  }
}

const LeaseKey* KeptResults::OldestOf(const Ranking& ranking) const {
  return publishers_.at(ranking.rbegin()->second).by_use.begin()->second;
}

void KeptResults::Rank(const Incarnation& id, const Publisher& publisher) {
  by_names_.emplace(publisher.by_use.size(), id);
  by_bytes_.emplace(publisher.bytes, id);
}

void KeptResults::Unrank(const Incarnation& id, const Publisher& publisher) {
  by_names_.erase({publisher.by_use.size(), id});
  by_bytes_.erase({publisher.bytes, id});
}

}  // namespace muster::core
