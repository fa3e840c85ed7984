#ifndef MUSTER_CLIENT_GLOO_CONNECTIONS_CONNECTION_MONITOR_H_
#define MUSTER_CLIENT_GLOO_CONNECTIONS_CONNECTION_MONITOR_H_

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/gloo/connections/interrupter.h"
#include "client/gloo/endings/encoded_end_notice.h"
#include "client/gloo/endings/end_notice_channel.h"
#include "gloo/transport/context.h"

namespace muster::internal {

// A monitor of one rank's connections: which have broken, and which end notices have arrived. For
// every peer, two receives are pending from the start. One is for the peer's end notice. The other
// is a sentinel: nothing is ever sent to it, so it fails exactly when the connection fails.
// Thread-safe. Tests: tests/client/gloo/connection_monitor_test.cc.
class ConnectionMonitor final : public EndNoticeChannel {
 public:
  // Watches the connected pairs of `context`, and keeps it alive.
  explicit ConnectionMonitor(std::shared_ptr<gloo::transport::Context> context);

  // Returns the peers whose connections have broken, with the notices that arrived before.
  std::vector<EndedPeer> EndedPeers() override;

  // Sends `notice` to the peers whose connections are whole. Waits at most 100 ms for slow ones.
  std::vector<int> Notify(const EndNotice& notice, const std::vector<int>& ranks) override;

 private:
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

  // The buffers are declared after the memory that they point to, so they are destroyed first.
  struct Peer {
    EncodedEndNotice received{};
    Buffer notice;
    Buffer sentinel;
    bool broken = false;
    std::string why;  // Gloo's text, once broken
  };

  // Posts the two receives of a peer.
  std::unique_ptr<Peer> WatchPeer(int rank);
  static bool CheckBroken(Peer* peer);
  static void NoteBroken(const std::exception& error, Peer* peer);
  static void Flush(const std::vector<Buffer>& sent, Interrupter* timer);

  const std::shared_ptr<gloo::transport::Context> context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Peer>> peers_;  // null for this rank
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CONNECTIONS_CONNECTION_MONITOR_H_
