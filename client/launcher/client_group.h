#ifndef MUSTER_CLIENT_LAUNCHER_CLIENT_GROUP_H_
#define MUSTER_CLIENT_LAUNCHER_CLIENT_GROUP_H_

#include <condition_variable>
#include <mutex>
#include <set>

#include "absl/time/time.h"

namespace grpc {
class ClientContext;
}

namespace muster::launcher {

// The CoordinatorClients of one launcher, which are used on threads of their own. A launcher closes
// the group before it stops its coordinator, which otherwise waits in its drain for connections
// that nobody uses any more. Thread-safe.
class ClientGroup {
 public:
  // Ends the calls in flight, and every later one, with CANCELLED. Blocks until all clients have
  // been destroyed, and with them their connections, or `patience` has passed. Makes no call of
  // gRPC where no client exists: a process that gets no threads has none.
  void Close(absl::Duration patience);

 private:
  friend class CoordinatorClient;

  // A client or a call begins. False if the group is closed: then it must not begin.
  bool AddClient();
  bool AddCall(grpc::ClientContext* context);
  void RemoveClient();
  void RemoveCall(grpc::ClientContext* context);

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below under the mutex.
  bool closed_ = false;
  int clients_ = 0;
  std::set<grpc::ClientContext*> calls_;  // in flight
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_CLIENT_GROUP_H_
