#ifndef MUSTER_SERVER_DAEMON_GUARDS_OPEN_CALLS_H_
#define MUSTER_SERVER_DAEMON_GUARDS_OPEN_CALLS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "server/daemon/guards/byte_pool.h"
#include "server/daemon/guards/http2_frame_reader.h"

namespace muster::daemon {

// A count of the memory that the open calls of one connection hold in the daemon. gRPC keeps the
// received part of a message until the call ends, and asks for credentials only when the message is
// complete. Nothing else bounds a peer that completes no message, or that does not read how its
// calls were refused.
//
// Each connection has kOwnBytes of its own, enough for a few small calls. It takes the rest from a
// pool that it shares with other connections.
class OpenCalls {
 public:
  static constexpr uint64_t kOwnBytes = 64 << 10;
  // The memory that gRPC needs for a call without a message (12 to 17 KB), and for a frame without
  // content.
  static constexpr uint64_t kCallBytes = 16 << 10;
  static constexpr uint64_t kFrameBytes = 64;

  // Starts with no calls. `pool` must outlive this object, which returns to it what it has taken.
  explicit OpenCalls(BytePool* pool) : pool_(pool) {}
  ~OpenCalls() { pool_->GiveBack(taken_); }
  OpenCalls(const OpenCalls&) = delete;
  OpenCalls& operator=(const OpenCalls&) = delete;

  // Takes the client's next frame. Returns false if there is no room for it; the connection must
  // then be closed.
  bool Received(const Http2Frame& frame);
  // Takes the server's next frame.
  void Sent(const Http2Frame& frame);

 private:
  void End(uint32_t stream);
  // Takes from the pool what the calls need in addition, or returns what they no longer need.
  // Returns false if the pool has too little.
  bool Settle();

  BytePool* const pool_;
  absl::flat_hash_map<uint32_t, uint64_t> calls_;  // bytes held, by stream
  uint32_t last_stream_ = 0;                       // the latest that the client has opened
  uint64_t held_ = 0;                              // by all calls
  uint64_t taken_ = 0;                             // from the pool
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_GUARDS_OPEN_CALLS_H_
