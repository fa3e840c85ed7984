#ifndef MUSTER_CLIENT_GLOO_PEER_ENDS_H_
#define MUSTER_CLIENT_GLOO_PEER_ENDS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "client/gloo/end_channel.h"
#include "client/gloo/interruptor.h"
#include "client/gloo/written_words.h"
#include "gloo/transport/context.h"

namespace muster::internal {

// The ends of the connections of one rank: which have broken, and what their peers said last. With
// every peer two receives are outstanding from the beginning: one for its last words, and one that
// nothing is ever sent to, which fails when the connection does. Thread-safe.
class PeerEnds final : public EndChannel {
 public:
  // Over connected pairs; keeps `context`.
  explicit PeerEnds(std::shared_ptr<gloo::transport::Context> context);

  // Returns the peers whose connections have broken, with what they said before that.
  std::vector<EndedPeer> EndedPeers() override;

  // Tells those whose connections are whole, as far as these can take it soon.
  std::vector<int> Tell(const PeerEnd& words, const std::vector<int>& ranks) override;

 private:
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

  // The buffers come after what they point to, so that they go first.
  struct Peer {
    WrittenWords received{};
    Buffer words;
    Buffer canary;
    bool broken = false;
  };

  std::unique_ptr<Peer> Meet(int rank);
  static bool CheckBroken(Peer* peer);
  static void Flush(const std::vector<Buffer>& sent, Interruptor* timer);

  const std::shared_ptr<gloo::transport::Context> context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Peer>> peers_;  // null for this rank
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_PEER_ENDS_H_
