#ifndef MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_STORE_HISTORY_H_
#define MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_STORE_HISTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/core/store/store.h"
#include "tests/server/core/random/random_store_client.h"

namespace muster::core::store {

using ClientMap = std::map<std::string, std::unique_ptr<ModelClient>>;

// The history of the keys under all daemons, and checks of what must hold of it. The names of the
// checks are those of tests/model/store.pml.
class StoreHistory {
 public:
  // `strict`: answers wait for the copy, too.
  StoreHistory(const ClientMap* clients, bool strict) : clients_(*clients), strict_(strict) {}

  // Looks at the daemon's state after a step.
  void Observe(const Store& store);
  void NoteDaemonKilled();
  // A client dies, or is lost although it lives.
  void NoteLossOf(const ModelClient& lost);
  // A client has processed an answer.
  void NoteAnswered(const ModelClient& client, const ModelClient::Answered& answered);
  // The daemon has sent an answer.
  void CheckHeld(const ModelClient& to, const StoreAnswer& answer) const;

 private:
  using Operations = std::set<StoreOperationId>;
  // A version of a key that a daemon has made.
  struct Version {
    Operations contained;
    StoreContent content;
    bool is_known = false;  // whether the content is
  };
  struct Key {
    std::map<StoreVersion, Version> versions;
    std::map<uint64_t, StoreVersion> latest_of;  // by revision
    StoreVersion current;
    Operations forgotten;     // of tombstones that a daemon has forgotten
    Operations outlasts_one;  // must outlast the death of the daemon
    Operations outlasts_two;  // must outlast the deaths of the daemon and of one client
    std::multimap<StoreOperationId, StoreResult> results;
  };

  void ObserveKey(const std::string& name, const Slot* slot);
  void NoteChanges(Key* key, const Slot& slot);
  void NoteHolders(Key* key, const Slot& slot);
  StoreVersion HighestHeld(const Store& store, const std::string& name) const;
  void CheckRecovered(const Store& store);
  bool IsHeld(const std::string& key, uint64_t revision, const ModelClient* but) const;
  void Reveal(const ModelClient& client, const std::string& name, uint64_t revision);

  const ClientMap& clients_;
  const bool strict_;
  std::map<std::string, Key> keys_;
  bool serving_ = false;  // the daemon has recovered
  int losses_ = 0;
  std::set<StoreOperationId> given_up_;
};

// Returns the key of an operation on one key, or null.
const std::string* KeyOf(const StoreOperation& operation);
bool SameContent(const StoreContent& a, const StoreContent& b);

}  // namespace muster::core::store

#endif  // MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_STORE_HISTORY_H_
