#ifndef MUSTER_CLIENT_GLOO_ENDINGS_END_CHANNEL_H_
#define MUSTER_CLIENT_GLOO_ENDINGS_END_CHANNEL_H_

#include <optional>
#include <string>
#include <vector>

namespace muster::internal {

// The last words of a rank: why it ended its communicator.
struct PeerEnd {
  int rank = 0;         // the first rank to end; a rank that ends because of it passes this on
  bool failed = false;  // true: by an error; false: normally
  std::string reason;
};

// A peer whose communicator has ended.
struct EndedPeer {
  int rank = 0;
  // Empty if the peer died without a word, or in the middle of its words.
  std::optional<PeerEnd> words;
};

// A channel on which ranks learn of each other's end: connections (PeerEnds) or the shared memory
// of a node (NodeMemory). Thread-safe.
class EndChannel {
 public:
  virtual ~EndChannel() = default;

  // Returns the peers that have ended, as far as this channel shows, in ascending order. Does not
  // block.
  virtual std::vector<EndedPeer> EndedPeers() = 0;

  // Sends `words` to the ranks in `ranks` that this channel reaches, and returns the other ranks.
  // Blocks for a moment at most. After this call, this rank uses the channel for nothing else.
  virtual std::vector<int> Tell(const PeerEnd& words, const std::vector<int>& ranks) = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_ENDINGS_END_CHANNEL_H_
