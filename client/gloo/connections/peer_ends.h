#ifndef MUSTER_CLIENT_GLOO_CONNECTIONS_PEER_ENDS_H_
#define MUSTER_CLIENT_GLOO_CONNECTIONS_PEER_ENDS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "client/gloo/connections/interruptor.h"
#include "client/gloo/endings/end_channel.h"
#include "client/gloo/endings/written_words.h"
#include "gloo/transport/context.h"

namespace muster::internal {

// The ends of one rank's connections: which have broken, and what the peers' last words were. For
// every peer, two receives are pending from the start. One is for the peer's last words. The other
// is a canary: nothing is ever sent to it, so it fails exactly when the connection fails.
// Thread-safe. Tests: tests/client/gloo/peer_ends_test.cc.
class PeerEnds final : public EndChannel {
 public:
  // Watches the connected pairs of `context`, and keeps it alive.
  explicit PeerEnds(std::shared_ptr<gloo::transport::Context> context);

  // Returns the peers whose connections have broken, with the last words that arrived before.
  std::vector<EndedPeer> EndedPeers() override;

  // Sends `words` to the peers whose connections are whole. Waits at most 100 ms for slow ones.
  std::vector<int> Tell(const PeerEnd& words, const std::vector<int>& ranks) override;

 private:
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

  // The buffers are declared after the memory that they point to, so they are destroyed first.
  struct Peer {
    WrittenWords received{};
    Buffer words;
    Buffer canary;
    bool broken = false;
  };

  // Posts the two receives of a peer.
  std::unique_ptr<Peer> Meet(int rank);
  static bool CheckBroken(Peer* peer);
  static void Flush(const std::vector<Buffer>& sent, Interruptor* timer);

  const std::shared_ptr<gloo::transport::Context> context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Peer>> peers_;  // null for this rank
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CONNECTIONS_PEER_ENDS_H_
