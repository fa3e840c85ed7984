#ifndef MUSTER_CLIENT_GLOO_ENDINGS_END_NOTICE_CHANNEL_H_
#define MUSTER_CLIENT_GLOO_ENDINGS_END_NOTICE_CHANNEL_H_

#include <optional>
#include <string>
#include <vector>

namespace muster::internal {

// A rank's notice that it has ended its communicator, and why.
struct EndNotice {
  int rank = 0;         // the first rank to end; a rank that ends because of it passes this on
  bool failed = false;  // true: by an error; false: normally
  std::string reason;
};

// A peer whose communicator has ended.
struct EndedPeer {
  int rank = 0;
  // Empty if the peer died without a notice, or in the middle of it.
  std::optional<EndNotice> notice;
  // The end as the channel saw it: Gloo's text for a broken connection. Empty if it saw nothing.
  std::string seen;
};

// A channel on which ranks learn of each other's end: connections (ConnectionMonitor) or the shared
// memory of a node (NodeMemory). Thread-safe.
class EndNoticeChannel {
 public:
  virtual ~EndNoticeChannel() = default;

  // Returns the peers that have ended, as far as this channel shows, in ascending order. Does not
  // block.
  virtual std::vector<EndedPeer> EndedPeers() = 0;

  // Sends `notice` to the ranks in `ranks` that this channel reaches, and returns the other ranks.
  // Blocks for a moment at most. After this call, this rank uses the channel for nothing else.
  virtual std::vector<int> Notify(const EndNotice& notice, const std::vector<int>& ranks) = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_ENDINGS_END_NOTICE_CHANNEL_H_
