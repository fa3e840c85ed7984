#ifndef MUSTER_SERVER_DAEMON_GUARDS_PEER_GUARD_H_
#define MUSTER_SERVER_DAEMON_GUARDS_PEER_GUARD_H_

#include <mutex>
#include <optional>

#include "absl/strings/string_view.h"
#include "server/daemon/guards/byte_pool.h"
#include "server/daemon/guards/header_guard.h"
#include "server/daemon/guards/http2_frame_reader.h"
#include "server/daemon/guards/open_calls.h"

namespace muster::daemon {

// The limits on one HTTP/2 connection, given its plaintext in both directions. A peer may never
// send long headers. Until one of its calls is admitted, its calls may hold little memory.
// Thread-safe: one thread reads from a connection while another thread writes to it.
class PeerGuard {
 public:
  enum class Result { kOk, kHeadersTooLong, kTooMuchMemory };

  // Starts at the beginning of a connection. Peers that are not admitted share the pool
  // `unadmitted`. Null: peers need no admission.
  explicit PeerGuard(BytePool* unadmitted);

  // Takes bytes that came from the peer. If the result is not kOk, the connection must be closed,
  // and the result stays the same from then on.
  Result Received(absl::string_view bytes);
  // Takes bytes that were sent to the peer.
  void Sent(absl::string_view bytes);
  // Lifts the bound on the memory of the peer's calls, because one of them was admitted.
  void Admit();

 private:
  void Follow(const Http2Frame& frame);

  std::mutex mutex_;  // guards the members below
  Result result_ = Result::kOk;
  Http2FrameReader received_{Http2FrameReader::kClientPreface};
  Http2FrameReader sent_{0};
  HeaderGuard headers_;
  std::optional<OpenCalls> calls_;  // unset once a call was admitted
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_GUARDS_PEER_GUARD_H_
