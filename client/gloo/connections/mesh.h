#ifndef MUSTER_CLIENT_GLOO_CONNECTIONS_MESH_H_
#define MUSTER_CLIENT_GLOO_CONNECTIONS_MESH_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/gloo/connections/connection_monitor.h"
#include "client/gloo/connections/gloo_peer_info.h"
#include "client/gloo/connections/interrupter.h"
#include "client/gloo/connections/network_interface.h"
#include "client/src/base/deadline.h"
#include "gloo/context.h"
#include "muster/group.h"

namespace muster::internal {

// The connections of one rank to all others of its group, as Gloo's collectives need them. They are
// made in two steps, Listen() and Connect(). In between, the ranks exchange their infos in one
// rendezvous. Gloo's own rendezvous would look up each pair separately.
class Mesh {
 public:
  // Listens at `address`, with one endpoint for each peer. UNAVAILABLE says what Gloo could not do.
  static absl::StatusOr<std::unique_ptr<Mesh>> Listen(const Group& group,
                                                      const NetworkAddress& address,
                                                      Interrupter* interrupter);

  // Flushes what was sent, and closes the connections.
  ~Mesh();

  // Returns the endpoints to which the peers connect.
  const GlooPeerInfo& peer_info() const { return own_; }

  // Connects to all peers. Blocks until all are connected. If the interrupter is raised, returns
  // its status, naming the ranks that are not connected yet. Other errors are as for a broken
  // connection.
  absl::Status Connect(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline);

  // Returns the context for Gloo's collectives. Call it after Connect() only.
  const std::shared_ptr<gloo::Context>& context() const { return context_; }

  // Returns the monitor of the connections. Call it after Connect() only.
  ConnectionMonitor& connection_monitor() { return *connection_monitor_; }

 private:
  Mesh(const Group& group, Interrupter* interrupter) : group_(group), interrupter_(interrupter) {}

  void Open(const NetworkAddress& address);
  absl::Status ConnectTo(int peer, const std::vector<GlooPeerInfo>& infos,
                         const Deadline& deadline);
  absl::Status ConnectAll(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline);
  absl::Status NotConnected(int first) const;

  const Group group_;
  Interrupter* const interrupter_;
  GlooPeerInfo own_;
  std::shared_ptr<gloo::transport::Context> transport_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<ConnectionMonitor> connection_monitor_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CONNECTIONS_MESH_H_
