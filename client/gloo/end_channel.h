#ifndef MUSTER_CLIENT_GLOO_END_CHANNEL_H_
#define MUSTER_CLIENT_GLOO_END_CHANNEL_H_

#include <optional>
#include <string>
#include <vector>

namespace muster::internal {

// Last words: why a rank ended its communicator.
struct PeerEnd {
  int rank = 0;         // the first rank to end: a rank that ends because of it passes its words on
  bool failed = false;  // by an error; else in the normal course
  std::string reason;
};

// A peer whose communicator has ended.
struct EndedPeer {
  int rank = 0;
  // Nothing if the peer died without a word, or in the middle of its words.
  std::optional<PeerEnd> words;
};

// A way by which ranks learn of each other's end. Thread-safe.
class EndChannel {
 public:
  virtual ~EndChannel() = default;

  // Returns the peers that have ended as far as this channel shows, ascending. Does not block.
  virtual std::vector<EndedPeer> EndedPeers() = 0;

  // Tells those of `ranks` that this channel reaches why this rank ends its communicator. Returns
  // the others. Blocks for a moment at most; this rank does nothing else on the channel afterwards.
  virtual std::vector<int> Tell(const PeerEnd& words, const std::vector<int>& ranks) = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_END_CHANNEL_H_
