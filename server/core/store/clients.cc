#include "server/core/store/clients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace muster::core::store {

namespace {

// FNV-1a: the same on every machine, so that a replay chooses the same copies.
uint64_t HashOf(const std::string& key) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// How many clients are looked at to find one on another node.
constexpr int kMostTried = 64;

// Ranks a client as the holder of a copy: the higher, the better.
int SuitabilityOf(const Client& client, const Client* keeper, bool is_known) {
  const bool other_node =
      keeper != nullptr && keeper->open && client.open && keeper->open->node != client.open->node;
  return 4 * (client.attached() && is_known) + 2 * client.attached() + other_node;
}

}  // namespace

std::string Client::Describe() const {
  if (!open) return absl::StrCat("client ", absl::BytesToHexString(id.substr(0, 4)));
  if (open->launcher) return absl::StrCat("the launcher of node ", open->node);
  if (open->rank) return absl::StrCat("rank ", *open->rank, " (node ", open->node, ")");
  return absl::StrCat("client ", absl::BytesToHexString(id.substr(0, 4)), " (node ", open->node,
                      ")");
}

bool Client::HasAcknowledged(uint64_t operation) const {
  return open && operation < open->next_operation &&
         !std::binary_search(open->unanswered.begin(), open->unanswered.end(), operation);
}

Client* Clients::Find(const Incarnation& id) const {
  const auto it = clients_.find(id);
  return it == clients_.end() ? nullptr : it->second.get();
}

Client* Clients::FindByStream(WaiterId stream) const {
  const auto it = streams_.find(stream);
  return it == streams_.end() ? nullptr : it->second;
}

Client* Clients::Join(const Incarnation& id) {
  const size_t position = list_.size();
  if (!list_.Join(id)) return Find(id);
  auto client = std::make_unique<Client>();
  client->id = id;
  client->joined_at = position;
  knows_.insert(0);
  return (clients_[id] = std::move(client)).get();
}

void Clients::Lose(const Incarnation& id) {
  list_.Lose(id);
  Client* const client = Find(id);
  if (client == nullptr) return;
  if (client->attached()) Detach(client);
  knows_.erase(knows_.find(client->knows));
  clients_.erase(id);
}

void Clients::Attach(Client* client, WaiterId stream, const StoreOpen& open) {
  client->open = open;
  client->stream = stream;
  client->sent = client->processed = client->latest_operation = 0;
  streams_[stream] = client;
  unserved_.emplace(client->joined_at, client->id);
}

void Clients::Detach(Client* client) {
  streams_.erase(client->stream);
  unserved_.erase({client->joined_at, client->id});
  client->stream = 0;
  client->unconfirmed.clear();
  client->unconfirmed_bytes = 0;
  client->postponed.clear();
}

void Clients::NoteKnows(Client* client, size_t position) {
  if (position <= client->knows) return;
  knows_.erase(knows_.find(client->knows));
  knows_.insert(client->knows = position);
}

Client* Clients::TakeKnown() {
  if (unserved_.empty()) return nullptr;
  known_ = std::max(known_, *knows_.begin());
  Client* const client = Find(unserved_.begin()->second);
  if (!IsKnown(*client)) return nullptr;
  unserved_.erase(unserved_.begin());
  return client;
}

Client* Clients::ChooseCopy(const Slot& slot, const Client* keeper) const {
  const uint64_t hash = HashOf(slot.key);
  Incarnation start;
  for (int shift = 56; shift >= 0; shift -= 8) start += static_cast<char>(hash >> shift);
  Client* best = nullptr;
  int suitability = -1;
  auto it = clients_.lower_bound(start);
  for (int tried = 0; tried < kMostTried && tried < static_cast<int>(clients_.size()); ++tried) {
    if (it == clients_.end()) it = clients_.begin();
    Client* const client = (it++)->second.get();
    if (client == keeper) continue;
    const int its = SuitabilityOf(*client, keeper, IsKnown(*client));
    if (its > suitability) {
      best = client;
      suitability = its;
    }
  }
  return best;
}

}  // namespace muster::core::store
