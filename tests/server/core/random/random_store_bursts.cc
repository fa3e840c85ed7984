#include <algorithm>

#include "gtest/gtest.h"
#include "tests/server/core/random/random_store_schedule.h"

namespace muster::core::store {

void StoreSchedule::GoOnWithout(const ModelClient* away, int steps) {
  for (int i = 0; i < steps; ++i) {
    ModelClient* const client = Any();
    if (client == nullptr || client == away || client->stream == 0) continue;
    const uint64_t what = Pick(10);
    if (what < 4) {
      Send(client);
    } else if (what < 7) {
      Receive(client, /*confirms=*/Pick(4) == 0);
    } else if (what < 9) {
      Start(client);
    } else {
      Receive(client, /*confirms=*/true);
    }
  }
}

bool StoreSchedule::HasConfirmed(const Slot& slot, const Client* holder) const {
  if (holder == nullptr || !holder->attached() || !clients_.at(holder->id)->alive) return false;
  return std::any_of(slot.holdings.begin(), slot.holdings.end(), [&](const Holding& holding) {
    return holding.client == holder && holding.confirmed == slot.version.revision;
  });
}

ModelClient* StoreSchedule::LateHolder(const Slot& slot) const {
  for (const auto& [id, client] : clients_) {
    if (!client->alive || client->silent || client->broken || client->end) continue;
    if (id == slot.keeper->id || id == slot.copy->id) continue;
    for (const StoreResponse& message : client->inbox) {
      const auto* hold = std::get_if<StoreHold>(&message);
      if (hold != nullptr && hold->key == slot.key) return client.get();
    }
  }
  return nullptr;
}

void StoreSchedule::KillHolders() {
  if (Living() < 3) return;
  for (const auto& [name, slot] : store_->slots().all()) {
    if (!HasConfirmed(*slot, slot->keeper) || !HasConfirmed(*slot, slot->copy)) continue;
    ModelClient* const late = LateHolder(*slot);
    if (late == nullptr) continue;
    const std::string keeper = slot->keeper->id;
    const std::string copy = slot->copy->id;
    Kill(clients_[keeper].get());
    Kill(clients_[copy].get());
    while (!late->inbox.empty() && !::testing::Test::HasFailure()) {
      Receive(late, /*confirms=*/true);
      if (Pick(4) != 0) {
        while (!late->outbox.empty() && !late->broken && !late->end) Send(late);
      }
    }
    return KillDaemon();
  }
}

void StoreSchedule::LoseSilent() {
  ModelClient* const silent = Any();
  if (silent == nullptr || silent->stream == 0 || silent->broken || Living() < 3) return;
  AddClient();
  ModelClient* const added = last_added_;
  Open(added);
  while (!added->outbox.empty()) Send(added);
  const WaiterId stream = silent->stream;
  silent->Forget();
  Step([&] { store_->StreamClosed(stream); });
  if (Pick(2) == 0) GoOnWithout(silent, static_cast<int>(Pick(20)));
  Advance(absl::Seconds(3));
  GoOnWithout(silent, static_cast<int>(Pick(60)));
  KillDaemon();
}

}  // namespace muster::core::store
