#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_WATCH_NOTIFIER_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_WATCH_NOTIFIER_H_

#include <cstdint>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "client/src/control_plane/store_plane.h"
#include "muster/v1/store.pb.h"

namespace muster::internal {

// Runs the callbacks of watches, in order, on a thread of its own: they may take long, and the
// thread that receives must confirm what other clients wait for. Events of a slow callback queue
// up. Thread-safe. Test: tests/client/control_plane/store_driver_test.cc.
class WatchNotifier {
 public:
  using Callback = StorePlane::WatchCallback;

  // Starts the thread. Returns RESOURCE_EXHAUSTED if the process cannot get one.
  static absl::StatusOr<std::unique_ptr<WatchNotifier>> Start();
  // Runs callbacks for the ends that wait, drops the changes that wait, and waits for a callback
  // that runs, unless this thread runs it.
  ~WatchNotifier();
  WatchNotifier(const WatchNotifier&) = delete;
  WatchNotifier& operator=(const WatchNotifier&) = delete;

  // Calls `callback` for the events of this watch from now on.
  void Add(uint64_t watch, Callback callback);
  // Queues an event, or the watch's end, after which the callback is destroyed. Ignores unknown
  // watches. Does not block.
  void Notify(uint64_t watch, absl::StatusOr<v1::StoreWatchEvent> event);
  // Drops the watch and its events. Blocks while its callback runs, unless this thread runs it.
  // Ignores unknown watches.
  void Remove(uint64_t watch);

 private:
  class Queue;

  WatchNotifier(std::shared_ptr<Queue> queue, std::thread thread);

  const std::shared_ptr<Queue> queue_;  // the thread shares it, and may outlive this object
  std::thread thread_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_WATCH_NOTIFIER_H_
