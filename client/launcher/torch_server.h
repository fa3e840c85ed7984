#ifndef MUSTER_CLIENT_LAUNCHER_TORCH_SERVER_H_
#define MUSTER_CLIENT_LAUNCHER_TORCH_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/launcher/job_store_client.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/torch/key_store.h"
#include "client/launcher/torch/session.h"

namespace muster::launcher {

// The store of PyTorch programs on this node (docs/doors.md): speaks TCPStore on a port, at which
// MASTER_ADDR and MASTER_PORT of the ranks point. This class reads and writes; torch::Session
// decides. If the plan offers no store, every call does nothing. Call it from one thread.
class TorchServer {
 public:
  // Limits of all connections together. One that goes beyond is closed.
  static constexpr size_t kMaxConnections = 65536;
  static constexpr size_t kMaxUnservedBytes = 512 * 1024 * 1024;

  using Say = std::function<void(const std::string& text)>;
  // All pointers must outlive this object.
  TorchServer(JobPlan* plan, JobStoreClient* store, EventLoop* loop, Say say);
  ~TorchServer();
  TorchServer(const TorchServer&) = delete;
  TorchServer& operator=(const TorchServer&) = delete;

  // Begins with an empty store, before all ranks are started, or started again. The first call
  // listens, and writes the port into the plan.
  absl::Status BeginWorld();
  // Closes all connections, and gives up the operations in the job's store.
  void Close();

 private:
  // A client's connection. Without a descriptor, it only waits for the ends of its operations.
  struct Connection {
    Connection(std::string prefix, uint64_t* next_id) : session(std::move(prefix), next_id) {}
    int fd = -1;
    torch::Session session;
    std::string out;      // not sent yet
    size_t unserved = 0;  // session.buffered(), as it is counted in unserved_
    bool reads = false;   // what the loop watches
    bool writes = false;
  };

  absl::Status Listen();
  void OnConnection();
  void OnReady(uint64_t number);
  // Reads once. Returns false at the end of the connection.
  bool Read(uint64_t number, Connection* connection);
  // Sends what the socket takes. Returns false if the connection is broken.
  static bool Write(Connection* connection);
  // Follows a step of a session: sends, counts, watches, and forgets the connection at its end.
  void Settle(uint64_t number);
  void Watch(uint64_t number, Connection* connection);
  void Disconnect(uint64_t number, Connection* connection);

  void CarryOut(uint64_t number, torch::Effects effects);
  void CarryOut(uint64_t number, torch::Effect effect);
  // Passes the ends of operations to their sessions.
  void TakeEnded();

  JobPlan& plan_;
  JobStoreClient* const client_;
  EventLoop* const loop_;
  const Say say_;
  int listener_ = -1;
  int generation_ = -1;  // counts the calls of BeginWorld()
  std::unique_ptr<torch::KeyStore> store_;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;  // by number
  uint64_t next_connection_ = 1;
  uint64_t next_operation_ = 1;
  std::map<uint64_t, uint64_t> operations_;  // in progress, and the number of their connection
  size_t unserved_ = 0;                      // the bytes of all connections
  bool taking_ended_ = false;
  bool announced_full_ = false;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_TORCH_SERVER_H_
