#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_REMOTE_STORE_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_REMOTE_STORE_H_

#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/control_plane/store_plane.h"
#include "client/src/control_plane/store_transport.h"
#include "client/src/protocol/store/messages/store_client_options.h"

namespace muster::internal {

// Makes the transport of a client of the store.
using StoreTransportFactory = std::function<std::unique_ptr<StoreTransport>()>;

// The store of a job with a coordinator. It belongs to the job: the control planes of all epochs
// share it. The driver starts with the first use, so a program that does not use the store has
// neither its threads nor its connection. Thread-safe.
class RemoteStore {
 public:
  RemoteStore(StoreClientOptions options, StoreTransportFactory transport);
  ~RemoteStore();
  RemoteStore(const RemoteStore&) = delete;
  RemoteStore& operator=(const RemoteStore&) = delete;

  // Returns the store. RESOURCE_EXHAUSTED: the process cannot get its threads. After Close(),
  // returns the reason.
  absl::StatusOr<std::shared_ptr<StorePlane>> Get();
  // Ends every operation and watch, now and later, with this error.
  void Close(const absl::Status& why);

 private:
  const pid_t process_ = getpid();
  const StoreClientOptions options_;
  const StoreTransportFactory transport_;
  std::mutex mutex_;                    // guards all fields below
  std::shared_ptr<StorePlane> driver_;  // null before the first use
  absl::Status closed_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_REMOTE_STORE_H_
