#ifndef MUSTER_SERVER_DAEMON_PEER_GUARD_H_
#define MUSTER_SERVER_DAEMON_PEER_GUARD_H_

#include <mutex>
#include <optional>

#include "absl/strings/string_view.h"
#include "server/daemon/byte_pool.h"
#include "server/daemon/frame_reader.h"
#include "server/daemon/header_guard.h"
#include "server/daemon/open_calls.h"

namespace muster::daemon {

// Follows one HTTP/2 connection, in plain, and says when the peer has sent more than it may: long
// headers at any time, and much of anything before one of its calls has been admitted. Thread-safe:
// one thread reads from a connection while another one writes to it.
class PeerGuard {
 public:
  enum class Verdict { kFine, kLongHeaders, kHoldsTooMuch };

  // `unadmitted` is the room that unadmitted peers share. Null: nobody need be admitted.
  explicit PeerGuard(BytePool* unadmitted);

  // Takes what has come from the peer. Once that is not fine, the connection must be closed, and
  // nothing is fine any more.
  Verdict Received(absl::string_view bytes);
  // Takes what has been sent to the peer.
  void Sent(absl::string_view bytes);
  // Lifts the bound on what the peer's calls hold: one of them has been admitted.
  void Admit();

 private:
  void Follow(const Frame& frame);

  std::mutex mutex_;  // guards all below
  Verdict verdict_ = Verdict::kFine;
  FrameReader received_{FrameReader::kClientPreface};
  FrameReader sent_{0};
  HeaderGuard headers_;
  std::optional<OpenCalls> calls_;  // until one is admitted
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_PEER_GUARD_H_
