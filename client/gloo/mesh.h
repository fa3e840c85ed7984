#ifndef MUSTER_CLIENT_GLOO_MESH_H_
#define MUSTER_CLIENT_GLOO_MESH_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/gloo/gloo_peer_info.h"
#include "client/gloo/interruptor.h"
#include "client/gloo/network_interface.h"
#include "client/gloo/peer_ends.h"
#include "client/src/base/deadline.h"
#include "gloo/context.h"
#include "muster/group.h"

namespace muster::internal {

// The connections of one rank to all others of its group, as Gloo's collectives want them. They are
// made in two steps, between which the ranks exchange their infos: Gloo's own rendezvous would look
// up each pair on its own.
class Mesh {
 public:
  // Listens at `address`, once for each peer. UNAVAILABLE says what Gloo could not do.
  static absl::StatusOr<std::unique_ptr<Mesh>> Listen(const Group& group,
                                                      const NetworkAddress& address,
                                                      Interruptor* interruptor);

  // Flushes what was sent, and closes the connections.
  ~Mesh();

  // Where peers are to connect to.
  const GlooPeerInfo& peer_info() const { return own_; }

  // Connects to all peers. Blocks until then, or until the interruptor is raised, whose status it
  // returns with the ranks that are not connected. Errors otherwise as of a broken connection.
  absl::Status Connect(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline);

  // For Gloo's collectives.
  const std::shared_ptr<gloo::Context>& context() const { return context_; }

  // After Connect().
  PeerEnds& peer_ends() { return *peer_ends_; }

 private:
  Mesh(const Group& group, Interruptor* interruptor) : group_(group), interruptor_(interruptor) {}

  void Open(const NetworkAddress& address);
  absl::Status ConnectTo(int peer, const std::vector<GlooPeerInfo>& infos,
                         const Deadline& deadline);
  absl::Status ConnectAll(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline);
  absl::Status NotConnected(int first) const;

  const Group group_;
  Interruptor* const interruptor_;
  GlooPeerInfo own_;
  std::shared_ptr<gloo::transport::Context> transport_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<PeerEnds> peer_ends_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_MESH_H_
