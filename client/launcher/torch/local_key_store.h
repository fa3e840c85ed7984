#ifndef MUSTER_CLIENT_LAUNCHER_TORCH_LOCAL_KEY_STORE_H_
#define MUSTER_CLIENT_LAUNCHER_TORCH_LOCAL_KEY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "client/launcher/torch/key_store.h"
#include "client/src/control_plane/local_entries.h"

namespace muster::launcher::torch {

// The keys of a job of one node, in its launcher. No I/O.
class LocalKeyStore : public KeyStore {
 public:
  // Limits of keys, and of the bytes of keys and values, of this store. Beyond them, changes end
  // with RESOURCE_EXHAUSTED.
  static constexpr size_t kMaxKeys = 128 * 1024;
  static constexpr size_t kMaxBytes = 1024 * 1024 * 1024;

  void Begin(uint64_t id, v1::StoreOperation operation) override;
  void Cancel(uint64_t id) override;
  std::vector<Ended> TakeEnded() override;
  int fd() const override { return -1; }

 private:
  using Call = internal::LocalEntries::Call;

  // Returns the error of an operation for which there is no room, or OK.
  absl::Status CheckRoom(const v1::StoreOperation& operation) const;
  // Notes how an operation has changed the size of its key.
  void Count(const v1::StoreOperation& operation, const v1::StoreAnswer& answer);
  // Runs an operation. Returns false if it has to wait.
  bool Run(uint64_t id, Call* call);
  // Keep an operation that has to wait, and forget it.
  void Park(uint64_t id, Call call);
  Call Unpark(std::map<uint64_t, Call>::iterator waiting);
  // Runs the operations that wait for this key.
  void RunWaiting(const std::string& key);

  internal::LocalEntries entries_;
  std::unordered_map<std::string, size_t> sizes_;  // of keys and what they hold
  size_t bytes_ = 0;                               // their sum
  std::map<uint64_t, Call> waiting_;
  // The operations that wait for one key, and those that wait for several.
  std::unordered_map<std::string, std::set<uint64_t>> waiting_for_;
  std::set<uint64_t> waiting_for_several_;
  std::vector<Ended> ended_;
};

}  // namespace muster::launcher::torch

#endif  // MUSTER_CLIENT_LAUNCHER_TORCH_LOCAL_KEY_STORE_H_
