// Descriptions, for people, of the waits of the clients.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/core/store/operations.h"
#include "server/core/store/store.h"

namespace muster::core::store {
namespace {

// The most operations that are looked at, the oldest first.
constexpr size_t kMostOperations = 4096;

}  // namespace

const ParkedOperation* Operations::OldestWait() const {
  for (const auto& [serial, operation] : by_serial_) {
    if (operation->waits_for != nullptr) return operation;
  }
  return nullptr;
}

std::vector<StoreWaiters> Store::Waits(Time now) const {
  std::map<std::string, StoreWaiters> by_text;
  size_t looked_at = 0;
  for (const auto& [serial, operation] : operations_.all()) {
    if (++looked_at > kMostOperations) break;
    if (operation->waits_for == nullptr) continue;
    std::string what = operations_.DescribeMissing(*operation);
    StoreWaiters& wait = by_text[what];
    wait.what = std::move(what);
    wait.age = std::max(wait.age, now - operation->since);
    const auto& open = operation->client->open;
    if (open && open->rank && !open->launcher) {
      wait.ranks.push_back(*open->rank);
    } else {
      ++wait.others;
    }
  }
  std::vector<StoreWaiters> waits;
  for (auto& [text, wait] : by_text) {
    std::sort(wait.ranks.begin(), wait.ranks.end());
    wait.ranks.erase(std::unique(wait.ranks.begin(), wait.ranks.end()), wait.ranks.end());
    waits.push_back(std::move(wait));
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const StoreWaiters& a, const StoreWaiters& b) { return a.age > b.age; });
  return waits;
}

}  // namespace muster::core::store
