#ifndef MUSTER_CLIENT_GLOO_MESH_H_
#define MUSTER_CLIENT_GLOO_MESH_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/gloo/card.h"
#include "client/gloo/farewell.h"
#include "client/gloo/interruptor.h"
#include "client/gloo/network_interface.h"
#include "client/src/patience.h"
#include "gloo/context.h"
#include "muster/group.h"

namespace muster::internal {

// The connections of one rank to all others of its group, as Gloo's collectives want them. They are
// made in two steps, between which the ranks exchange their cards: Gloo's own rendezvous would look
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
  const GlooCard& card() const { return card_; }

  // Connects to all peers. Blocks until then, or until the interruptor is raised, whose status it
  // returns with the ranks that are not connected. Errors otherwise as of a broken connection.
  absl::Status Connect(const std::vector<GlooCard>& cards, const Patience& patience);

  // For Gloo's collectives.
  const std::shared_ptr<gloo::Context>& context() const { return context_; }

  // After Connect().
  Farewell& farewell() { return *farewell_; }

 private:
  Mesh(const Group& group, Interruptor* interruptor) : group_(group), interruptor_(interruptor) {}

  void Open(const NetworkAddress& address);
  absl::Status ConnectTo(int peer, const std::vector<GlooCard>& cards, const Patience& patience);
  absl::Status ConnectAll(const std::vector<GlooCard>& cards, const Patience& patience);
  absl::Status NotConnected(int first) const;

  const Group group_;
  Interruptor* const interruptor_;
  GlooCard card_;
  std::shared_ptr<gloo::transport::Context> transport_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<Farewell> farewell_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_MESH_H_
