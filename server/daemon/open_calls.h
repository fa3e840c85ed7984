#ifndef MUSTER_SERVER_DAEMON_OPEN_CALLS_H_
#define MUSTER_SERVER_DAEMON_OPEN_CALLS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "server/daemon/byte_pool.h"
#include "server/daemon/frame_reader.h"

namespace muster::daemon {

// What the open calls of one connection hold of the daemon's memory. gRPC keeps what has come of a
// message until the call's end, and asks who calls only when the message is complete. So a peer
// that completes no message, or does not read how its calls were refused, is bounded nowhere else.
//
// A connection has kOwnBytes, enough for a few small calls. For more it takes from a pool that it
// shares with others.
class OpenCalls {
 public:
  static constexpr uint64_t kOwnBytes = 64 << 10;
  // What gRPC needs for a call without a message (12 to 17 KB), and for a frame without content.
  static constexpr uint64_t kCallBytes = 16 << 10;
  static constexpr uint64_t kFrameBytes = 64;

  // `pool` must outlive this object, which gives back what it has taken.
  explicit OpenCalls(BytePool* pool) : pool_(pool) {}
  ~OpenCalls() { pool_->GiveBack(taken_); }
  OpenCalls(const OpenCalls&) = delete;
  OpenCalls& operator=(const OpenCalls&) = delete;

  // Takes the client's next frame. Returns false if there is no room for it: the connection must be
  // closed.
  bool Received(const Frame& frame);
  // Takes the server's next frame.
  void Sent(const Frame& frame);

 private:
  void End(uint32_t stream);
  // Takes from the pool what the calls need more, or gives back what they need no longer. Returns
  // false if the pool has too little.
  bool Settle();

  BytePool* const pool_;
  absl::flat_hash_map<uint32_t, uint64_t> calls_;  // by streams: the bytes that each holds
  uint32_t last_stream_ = 0;                       // that the client has opened
  uint64_t held_ = 0;                              // by all
  uint64_t taken_ = 0;                             // from the pool
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_OPEN_CALLS_H_
