#ifndef MUSTER_CLIENT_LAUNCHER_TORCH_WATCHED_KEY_STORE_H_
#define MUSTER_CLIENT_LAUNCHER_TORCH_WATCHED_KEY_STORE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/launcher/torch/key_store.h"
#include "muster/v1/store.pb.h"

namespace muster::launcher::torch {

// A store that reports changes of keys. Implementation: JobKeyStore of client/launcher.
class WatchedKeyStore : public KeyStore {
 public:
  // A change of a key with this prefix. An error ends the watch.
  struct Event {
    std::string prefix;
    absl::StatusOr<v1::StoreWatchEvent> event;
  };

  // Watches the keys with this prefix: reports each existing key, and then each change. Does
  // nothing if the prefix is watched.
  virtual void Watch(const std::string& prefix) = 0;
  // Ends the watch, whose events are not reported any more.
  virtual void EndWatch(const std::string& prefix) = 0;
  // Returns the events since the last call, in this order. Call it after TakeEnded(). fd() is
  // readable when there are others.
  virtual std::vector<Event> TakeEvents() = 0;
};

}  // namespace muster::launcher::torch

#endif  // MUSTER_CLIENT_LAUNCHER_TORCH_WATCHED_KEY_STORE_H_
