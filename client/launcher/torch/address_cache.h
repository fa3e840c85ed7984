#ifndef MUSTER_CLIENT_LAUNCHER_TORCH_ADDRESS_CACHE_H_
#define MUSTER_CLIENT_LAUNCHER_TORCH_ADDRESS_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/launcher/torch/key_store.h"
#include "client/launcher/torch/watched_key_store.h"

namespace muster::launcher::torch {

// A store in front of the job's, which answers gets of Gloo's addresses on this node. To connect N
// ranks, Gloo sets N keys, and each rank gets each of them, by PyTorch 2 twice. With this cache, a
// node asks the coordinator once for a key that all its ranks wait for.
//
// An address is a key below a process group's "//cpu//", and its last part is a number:
// "default_pg/0//cpu//0/3". The keys that differ only in this number are one group, which the cache
// watches from the first use on. A get of an address returns the latest value that the launcher
// knows (docs/doors.md):
//   * It sees every change that began at this launcher before, and never goes back.
//   * Another node's change counts when its event has arrived. Gloo sets each key once, and has no
//     other order between a rank's set and another rank's get than the value itself.
// All other keys are the store's alone. No I/O.
class AddressCache : public KeyStore {
 public:
  // Limits: beyond them, the group that was begun first is forgotten, and a value is not kept.
  static constexpr size_t kMaxGroups = 64;
  static constexpr size_t kMaxValueBytes = 4096;

  explicit AddressCache(std::unique_ptr<WatchedKeyStore> store) : store_(std::move(store)) {}

  void Begin(uint64_t id, v1::StoreOperation operation) override;
  void Cancel(uint64_t id) override;
  std::vector<Ended> TakeEnded() override;
  int fd() const override { return store_->fd(); }

  // Returns the prefix of the group if the key is an address of Gloo.
  static std::optional<absl::string_view> GroupOf(absl::string_view key);

 private:
  // The launcher's knowledge of a key.
  struct Address {
    uint64_t revision = 0;                           // of the latest change that is known
    std::optional<std::string> value;                // nullopt: not known, or no value
    int changes = 0;                                 // of this node, in progress
    uint64_t asked = 0;                              // the get that waits in the store; 0: none
    std::map<uint64_t, v1::StoreOperation> waiting;  // gets that wait here, by age

    bool idle() const { return changes == 0 && asked == 0 && waiting.empty(); }
  };
  struct Group {
    std::string prefix;
    std::map<std::string, Address> addresses;  // by key
  };
  // An operation on an address that is in progress in the store.
  struct InStore {
    std::string key;
    std::optional<std::string> value;  // that it sets
    bool changes = false;
  };

  // Returns the group, and begins it if there is none yet. Returns null if there is no room.
  Group* GroupWith(absl::string_view prefix);
  // Returns what is known of a key, or null.
  Address* Find(const std::string& key);
  bool MakeRoom();

  void BeginGet(uint64_t id, const std::string& key, v1::StoreOperation operation,
                Address* address);
  void BeginInStore(uint64_t id, const std::string& key, v1::StoreOperation operation);
  // Notes the end of an operation in the store.
  void Note(uint64_t id, const absl::StatusOr<v1::StoreAnswer>& answer);
  void Take(const WatchedKeyStore::Event& event);
  void TurnOff();
  // Notes a change, unless a later one is known.
  static void Learn(uint64_t revision, const std::string* value, Address* address);
  // Ends the gets that wait for the address if its value is known. Otherwise one of them waits in
  // the store.
  void Advance(const std::string& key, Address* address);
  void End(uint64_t id, const Address& address);

  const std::unique_ptr<WatchedKeyStore> store_;
  bool off_ = false;         // the store has refused to watch
  std::list<Group> groups_;  // by age
  std::map<uint64_t, InStore> in_store_;
  std::map<uint64_t, std::string> waiting_;  // the keys of gets that wait here
  std::vector<Ended> ended_;
};

}  // namespace muster::launcher::torch

#endif  // MUSTER_CLIENT_LAUNCHER_TORCH_ADDRESS_CACHE_H_
