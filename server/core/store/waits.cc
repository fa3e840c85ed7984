// Descriptions, for people, of the waits of the clients.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/store/operations.h"
#include "server/core/store/store.h"

namespace muster::core::store {
namespace {

// The most operations that are looked at, the oldest first.
constexpr size_t kMostOperations = 4096;

// Adds a client to those that wait. `rank` is its rank in the job.
void Count(const Client& client, std::optional<uint32_t> rank, StoreWaiters* wait) {
  if (client.open && client.open->launcher) {
    wait->launcher_nodes.push_back(client.open->node);
  } else if (rank || (client.open && client.open->rank)) {
    wait->ranks.push_back(rank ? *rank : *client.open->rank);
  } else {
    ++wait->others;
  }
}

template <class T>
void SortUnique(std::vector<T>* all) {
  std::sort(all->begin(), all->end());
  all->erase(std::unique(all->begin(), all->end()), all->end());
}

}  // namespace

const ParkedOperation* Operations::OldestWait() const {
  for (const auto& [serial, operation] : by_serial_) {
    if (operation->waits_for != nullptr) return operation;
  }
  return nullptr;
}

std::optional<Store::Wait> Store::WaitOf(const Incarnation& id) const {
  const Client* const client = context_.clients.Find(id);
  if (client == nullptr) return std::nullopt;
  for (const auto& [number, operation] : client->operations) {
    if (operation->waits_for == nullptr) continue;
    return Wait{operations_.DescribeMissing(*operation), operation->since};
  }
  return std::nullopt;
}

std::vector<StoreWaiters> Store::Waits(Time now, RankOf rank_of) const {
  std::map<std::string, StoreWaiters> by_text;
  size_t looked_at = 0;
  for (const auto& [serial, operation] : operations_.all()) {
    if (++looked_at > kMostOperations) break;
    if (operation->waits_for == nullptr) continue;
    std::string what = operations_.DescribeMissing(*operation);
    StoreWaiters& wait = by_text[what];
    wait.what = std::move(what);
    wait.age = std::max(wait.age, now - operation->since);
    Count(*operation->client, rank_of(operation->client->id), &wait);
  }
  std::vector<StoreWaiters> waits;
  for (auto& [text, wait] : by_text) {
    SortUnique(&wait.ranks);
    SortUnique(&wait.launcher_nodes);
    waits.push_back(std::move(wait));
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const StoreWaiters& a, const StoreWaiters& b) { return a.age > b.age; });
  return waits;
}

}  // namespace muster::core::store
