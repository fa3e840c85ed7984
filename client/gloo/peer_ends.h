#ifndef MUSTER_CLIENT_GLOO_PEER_ENDS_H_
#define MUSTER_CLIENT_GLOO_PEER_ENDS_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gloo/transport/context.h"

namespace muster::internal {

// Why a rank ended its communicator.
struct PeerEnd {
  int rank = 0;  // who ended it first: a rank that ends because of another's end passes that on
  bool failed = false;  // by an error; else in the normal course
  std::string reason;
};

// The ends of the connections of one rank: which have broken, and what their peers said last. With
// every peer two receives are outstanding from the beginning: one for its last words, and one that
// nothing is ever sent to, which fails when the connection does. Thread-safe.
class PeerEnds {
 public:
  // Over connected pairs; keeps `context`.
  explicit PeerEnds(std::shared_ptr<gloo::transport::Context> context);

  // The peers whose connections have broken, ascending. Does not block.
  std::vector<int> BrokenPeers();

  // What `peer` said before its connection broke; nothing if that has not happened, or if it died
  // without a word or in the middle of one. Does not block.
  std::optional<PeerEnd> WordsOf(int peer);

  // Of BrokenPeers(), those that did not end in the normal course: first those that have spoken,
  // since they know more than can be seen from here, then those that died without a word.
  std::vector<int> FailedPeers();

  // Tells all peers, as far as their connections can take it soon: waits for a moment at most. The
  // connections are of no use afterwards.
  void Say(const PeerEnd& words);

 private:
  struct Message {
    int32_t rank;
    uint16_t failed;
    uint16_t length;
    char text[503];
    uint8_t complete;  // 1; comes last, so what has arrived is whole
  };
  static_assert(sizeof(Message) == 512);
  // The buffers come after what they point to, so that they go first.
  struct Peer {
    Message received{};
    std::unique_ptr<gloo::transport::UnboundBuffer> words;
    std::unique_ptr<gloo::transport::UnboundBuffer> canary;
    bool broken = false;
  };

  std::unique_ptr<Peer> Meet(int rank);
  bool CheckBroken(Peer* peer);
  void Send(int rank);
  void Flush();

  const std::shared_ptr<gloo::transport::Context> context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Peer>> peers_;  // null for this rank
  Message said_{};
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> sent_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_PEER_ENDS_H_
