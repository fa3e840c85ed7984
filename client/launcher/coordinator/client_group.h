#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_CLIENT_GROUP_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_CLIENT_GROUP_H_

#include <condition_variable>
#include <mutex>
#include <set>

#include "absl/time/time.h"

namespace grpc {
class ClientContext;
}

namespace muster::launcher {

// The CoordinatorClients of one launcher, whose calls run on background threads. The launcher
// closes the group before it stops its coordinator. Otherwise the coordinator would wait in its
// drain for idle connections. Thread-safe.
class ClientGroup {
 public:
  // Cancels the calls in flight; later calls end with CANCELLED. Blocks until all clients, and so
  // their connections, have been destroyed, or `patience` has passed. Without clients, makes no
  // gRPC call: gRPC may hang in a process that cannot start threads.
  void Close(absl::Duration patience);

 private:
  friend class CoordinatorClient;

  // Registers a new client or call. If the group is closed, they return false and the client or
  // call must not begin.
  bool AddClient();
  bool AddCall(grpc::ClientContext* context);
  void RemoveClient();
  void RemoveCall(grpc::ClientContext* context);

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  bool closed_ = false;
  int clients_ = 0;
  std::set<grpc::ClientContext*> calls_;  // in flight
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_CLIENT_GROUP_H_
