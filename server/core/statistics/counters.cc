#include "server/core/statistics/counters.h"

#include <algorithm>
#include <utility>

#include "server/core/api/describe.h"

namespace muster::core {
void WaitHistogram::Add(absl::Duration wait) {
  const double seconds = absl::ToDoubleSeconds(wait);
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++counts_[static_cast<size_t>(bound - kBounds.begin())];
  sum_ += seconds;
}

WaitHistogram* CollectiveWaitsTable::Find(CollectiveKind kind, absl::string_view group,
                                          absl::string_view label) {
  Key key(kind, MaskNumbers(group), MaskNumbers(label));
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return &known->second;
  return by_key_.size() < kMost ? &by_key_[std::move(key)] : &other_;
}

std::vector<CollectiveWaits> CollectiveWaitsTable::All() const {
  std::vector<CollectiveWaits> all;
  for (const auto& [key, waits] : by_key_) {
    all.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), waits});
  }
  if (other_.count() > 0) all.push_back({std::nullopt, "", "", other_});
  return all;
}

}  // namespace muster::core
