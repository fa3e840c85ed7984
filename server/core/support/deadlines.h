#ifndef MUSTER_SERVER_CORE_SUPPORT_DEADLINES_H_
#define MUSTER_SERVER_CORE_SUPPORT_DEADLINES_H_

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "server/core/api/types.h"

namespace muster::core {

// The times at which something is due, at most one per key.
template <class Key>
class Deadlines {
 public:
  void Set(const Key& key, Time when) {
    Clear(key);
    times_[key] = when;
    order_.emplace(when, key);
  }

  void Clear(const Key& key) {
    auto it = times_.find(key);
    if (it == times_.end()) return;
    order_.erase({it->second, key});
    times_.erase(it);
  }

  bool empty() const { return times_.empty(); }

  bool Has(const Key& key) const { return times_.count(key) > 0; }
  // Returns the time of a key that has one.
  Time At(const Key& key) const { return times_.at(key); }

  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [key, when] : times_) visit(key);
  }

  Time Next() const { return order_.empty() ? absl::InfiniteFuture() : order_.begin()->first; }

  // Removes and returns a key that is due.
  std::optional<Key> Pop(Time now) {
    if (Next() > now) return std::nullopt;
    const Key key = order_.begin()->second;
    Clear(key);
    return key;
  }

 private:
  std::map<Key, Time> times_;
  std::set<std::pair<Time, Key>> order_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_SUPPORT_DEADLINES_H_
