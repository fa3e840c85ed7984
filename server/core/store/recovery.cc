#include "server/core/store/recovery.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/store/content.h"

namespace muster::core::store {

namespace {

// How long a client may take to send an entry that it was asked for.
constexpr absl::Duration kPatience = absl::Seconds(10);
// How many keys a client is asked for at once.
constexpr size_t kMostAsked = 64;

}  // namespace

void Recovery::NoteClaim(const Client& client) {
  first_claim_ = std::min(first_claim_, context_.now);
  was_served_ = was_served_ || client.open->was_served;
  if (client.open->rank && !client.open->launcher) new_ranks_.insert(*client.open->rank);
}

// Returns whether no client can come that is not in the list and was served before.
bool Recovery::HasWaited() const {
  const uint32_t world_size = context_.options.world_size;
  return was_served_ || context_.now >= context_.options.young_until ||
         (world_size != 0 && new_ranks_.size() >= world_size);
}

bool Recovery::AllAreBack() const {
  return context_.clients.attached() == context_.clients.all().size();
}

Time Recovery::NextDeadline() const {
  if (context_.serving || !context_.clients.any_attached()) return absl::InfiniteFuture();
  if (context_.gathering) {
    const Time grace = first_claim_ + context_.options.recovery_grace;
    return HasWaited() ? grace : std::min(grace, context_.options.young_until);
  }
  Time next = absl::InfiniteFuture();
  for (const auto& [client, asked] : asked_) next = std::min(next, asked.until);
  return next;
}

bool Recovery::Advance(std::vector<Client*>* missing) {
  if (context_.serving || !context_.clients.any_attached()) return false;
  if (context_.gathering) {
    if (!HasWaited()) return false;
    if (!AllAreBack()) {
      if (context_.now < first_claim_ + context_.options.recovery_grace) return false;
      for (const auto& [id, client] : context_.clients.all()) {
        if (!client->attached()) missing->push_back(client.get());
      }
      return false;
    }
    BeginFetching();
  }
  Fetch();
  if (!wanted_.empty()) return false;
  End();
  return true;
}

void Recovery::BeginFetching() {
  context_.gathering = false;
  for (const auto& [key, slot] : slots_.all()) {
    if (!slot->holdings.empty()) wanted_.insert(key);
    for (const Holding& holding : slot->holdings) {
      context_.latest = std::max(context_.latest, holding.may_hold.revision);
    }
  }
}

// Returns the client to ask for the entry: one that claims the highest revision. Returns null if
// all of those are away for now.
Client* Recovery::ChooseClaimant(Slot* slot) const {
  StoreVersion highest;
  for (const Holding& holding : slot->holdings) highest = std::max(highest, holding.may_hold);
  Client* chosen = nullptr;
  for (const Holding& holding : slot->holdings) {
    Client* const client = holding.client;
    if (!(holding.may_hold == highest) || !client->attached()) continue;
    if (chosen == nullptr || client->fetches_failed < chosen->fetches_failed) chosen = client;
  }
  return chosen;
}

// Asks for the wanted entries that no client is asked for.
void Recovery::Fetch() {
  std::map<size_t, std::pair<Client*, StoreFetch>> fetches;  // by the client's place in the list
  std::set<std::string> under_way;
  for (const auto& [client, asked] : asked_) {
    under_way.insert(asked.keys.begin(), asked.keys.end());
  }
  for (auto it = wanted_.begin(); it != wanted_.end();) {
    const std::string key = *it++;
    if (under_way.count(key) > 0) continue;
    Slot* const slot = slots_.Find(key);
    if (slot == nullptr || slot->holdings.empty()) {
      wanted_.erase(key);  // all claimants are lost
      continue;
    }
    Client* const client = ChooseClaimant(slot);
    if (client == nullptr) continue;
    Asked& asked = asked_[client];
    if (asked.keys.size() >= kMostAsked) continue;
    if (asked.keys.empty()) asked.until = context_.now + kPatience;
    asked.keys.insert(key);
    auto& [to, fetch] = fetches[client->joined_at];
    to = client;
    fetch.keys.push_back(key);
  }
  for (auto& [place, fetch] : fetches) context_.Send(fetch.first, std::move(fetch.second));
}

absl::Status Recovery::Receive(Client* client, const StoreEntries& entries) {
  const auto asked = asked_.find(client);
  for (const FetchedStoreEntry& fetched : entries.entries) {
    if (asked == asked_.end() || asked->second.keys.erase(fetched.key) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the daemon has not asked for key ", Quote(fetched.key)));
    }
    Slot* const slot = slots_.Find(fetched.key);
    Holding* const holding = slot->Find(client);
    if (fetched.version == holding->may_hold) {
      placement_.Adopt(slot, client, fetched.entry);
      operations_.AdoptResults(slot);
      wanted_.erase(fetched.key);
    } else {
      context_.Log(Severity::kWarning,
                   absl::StrCat(client->Describe(), " does not hold key ", Quote(fetched.key),
                                " of the store as it has claimed"));
      slot->Remove(client);
      client->slots.erase(slot);
    }
  }
  if (asked != asked_.end()) {
    asked->second.until = context_.now + kPatience;
    if (asked->second.keys.empty()) asked_.erase(asked);
  }
  return absl::OkStatus();
}

Client* Recovery::TakeLate() {
  Client* late = nullptr;
  for (const auto& [client, asked] : asked_) {
    if (asked.until > context_.now) continue;
    if (late == nullptr || client->joined_at < late->joined_at) late = client;
  }
  if (late != nullptr) asked_.erase(late);
  return late;
}

void Recovery::End() {
  context_.serving = true;
  for (const auto& [key, slot] : slots_.all()) slots_.SetDue(slot.get());
  if (slots_.entries() == 0 && !was_served_) return;
  context_.Log(Severity::kInfo,
               absl::StrCat("the store has recovered: ", slots_.existing(), " keys from ",
                            context_.clients.attached(), " clients"));
}

}  // namespace muster::core::store
