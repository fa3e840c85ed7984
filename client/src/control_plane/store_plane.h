#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_STORE_PLANE_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_STORE_PLANE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/call_options.h"
#include "muster/group.h"
#include "muster/v1/store.pb.h"

namespace muster::internal {

// The job's store, as the public class Store sees it. It talks to the coordinator (StoreDriver), or
// keeps the keys itself in serial mode (LocalStore). Thread-safe.
class StorePlane {
 public:
  virtual ~StorePlane() = default;

  // Runs one operation, and blocks until it has ended. `options.timeout` is always set. The
  // operation has no id. Errors: as StoreClientCore::Begin().
  virtual absl::StatusOr<v1::StoreAnswer> Call(v1::StoreOperation operation,
                                               const CallOptions& options) = 0;

  // Watches a prefix until the subscription ends. Calls `callback` on a thread of the SDK: for each
  // existing key, and then after each change. An error is the last call. A callback that runs may
  // end its own subscription; on other threads, ending waits for it.
  using WatchCallback = std::function<void(const absl::StatusOr<v1::StoreWatchEvent>& event)>;
  virtual absl::StatusOr<Subscription> Watch(const std::string& prefix, WatchCallback callback) = 0;

  // Ends every operation and watch, now and later, with this error, and leaves the store.
  virtual void Close(const absl::Status& why) = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_STORE_PLANE_H_
