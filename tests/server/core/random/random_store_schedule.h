#ifndef MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_STORE_SCHEDULE_H_
#define MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_STORE_SCHEDULE_H_

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "server/core/store/content.h"
#include "server/core/store/store.h"
#include "tests/server/core/random/random_store_client.h"
#include "tests/server/core/random/random_store_history.h"

namespace muster::core::store {

// One random schedule of one store; see random_store_test.cc. Faults that come together are in
// random_store_bursts.cc, and the checks at the end in random_store_checks.cc.
class StoreSchedule {
 public:
  struct Configuration {
    bool losses = false;  // clients die, and some are silent
  };

  StoreSchedule(uint64_t seed, Configuration configuration);

  void Run(int steps);

 private:
  uint64_t Pick(uint64_t below) {
    return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_);
  }

  // ---- The daemon ----

  void StartDaemon();
  template <class Input>
  void Step(const Input& input) {
    store_->Begin(now_);
    input();
    Deliver(store_->End());
    NoteLosses();
    history_.Observe(*store_);
  }
  void Deliver(Effects effects);
  // Notes clients that live and that the daemon has lost.
  void NoteLosses();
  void KillDaemon();

  // ---- Clients ----

  void AddClient();
  ModelClient* ByStream(WaiterId stream);
  // Returns a client that lives, or null.
  ModelClient* Any();
  void Open(ModelClient* client) { client->Open(++streams_, 1 + Pick(4)); }
  // Lets the daemon take the client's next message.
  void Send(ModelClient* client);
  // Lets the client take the daemon's next message, or the end of its stream.
  void Receive(ModelClient* client, bool confirms);
  void Cut(ModelClient* client);
  // Lets the daemon notice the ends of streams that their clients have dropped.
  void CloseHalfOpen();
  void Kill(ModelClient* client);
  void Start(ModelClient* client);
  std::optional<std::string> Expected(const std::string& key) const;
  void Cancel(ModelClient* client);
  void Advance(absl::Duration time);

  // ---- Faults that come together ----

  // Some steps in which the others go on, but confirm little.
  void GoOnWithout(const ModelClient* away, int steps);
  bool HasConfirmed(const Slot& slot, const Client* holder) const;
  // Returns a client that is no holder of the entry, and that an older revision of it is on its way
  // to, or null.
  ModelClient* LateHolder(const Slot& slot) const;
  // Keeper and copy of an entry die when another client still has to take an older revision. It
  // must go on holding that until other holders are here. The daemon dies before that.
  void KillHolders();
  // A client comes, and another one is silent until it is lost. The daemon dies before all have
  // confirmed that.
  void LoseSilent();

  // ---- The schedule ----

  void Act();
  size_t Living() const;
  // Lets all messages arrive.
  void DeliverAll();
  // Lets the schedule come to rest, and checks that nothing is stuck, and that every entry is where
  // it belongs.
  void Rest();
  bool Exists(const std::string& key) const;
  void CheckNotStuck(const ModelClient& client);
  // After losses, events may have told of changes that are lost.
  void CheckWatch(const ModelClient::Watch& watch);
  void CheckPlaced(const Slot& slot);

  std::mt19937_64 random_;
  const Configuration configuration_;
  const bool strict_;
  ByteBudget budget_{uint64_t{1} << 30};
  ClientMap clients_;
  ModelClient* last_added_ = nullptr;
  StoreHistory history_;
  Time now_ = absl::UnixEpoch() + absl::Hours(1);
  uint64_t instance_ = 0;
  bool has_served_ = false;
  std::vector<WaiterId> half_open_;
  WaiterId streams_ = 0;
  std::unique_ptr<Store> store_;
};

}  // namespace muster::core::store

#endif  // MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_STORE_SCHEDULE_H_
