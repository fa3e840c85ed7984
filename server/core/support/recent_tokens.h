#ifndef MUSTER_SERVER_CORE_SUPPORT_RECENT_TOKENS_H_
#define MUSTER_SERVER_CORE_SUPPORT_RECENT_TOKENS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/container/flat_hash_set.h"

namespace muster::core {

// The `max` tokens that were added last, and the highest token that ever was.
class RecentTokens {
 public:
  explicit RecentTokens(size_t max) : max_(max) {}

  void Add(uint64_t token) {
    highest_ = std::max(highest_, token);
    if (!tokens_.insert(token).second) return;
    order_.push_back(token);
    if (order_.size() <= max_) return;
    tokens_.erase(order_.front());
    order_.pop_front();
  }

  bool Contains(uint64_t token) const { return tokens_.contains(token); }
  uint64_t highest() const { return highest_; }

 private:
  size_t max_;
  absl::flat_hash_set<uint64_t> tokens_;
  std::deque<uint64_t> order_;
  uint64_t highest_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_SUPPORT_RECENT_TOKENS_H_
