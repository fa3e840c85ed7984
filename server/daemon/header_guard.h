#ifndef MUSTER_SERVER_DAEMON_HEADER_GUARD_H_
#define MUSTER_SERVER_DAEMON_HEADER_GUARD_H_

#include <cstdint>

#include "server/daemon/frame_reader.h"

namespace muster::daemon {

// Says when a peer's headers are more than it may send. gRPC 1.51 has no such bound:
// GRPC_ARG_MAX_METADATA_SIZE counts from zero in each CONTINUATION frame, does not count a header
// that is not complete, and holds only once the peer has acknowledged the setting.
class HeaderGuard {
 public:
  // The headers of one request. gRPC's clients are told to send at most 8 KiB, uncompressed.
  static constexpr uint32_t kMostBytes = 16 << 10;
  // The bound on all requests before the peer acknowledges our settings, as soon as it knows them.
  static constexpr uint32_t kMostBytesUnacknowledged = 64 << 10;

  // Takes the peer's next frame. Returns false if the connection must be closed, and ever after.
  bool Admit(const Frame& frame);

 private:
  void CountHeaders(uint32_t bytes, bool first_frame);

  bool acknowledged_ = false;
  bool too_long_ = false;
  uint32_t header_bytes_ = 0;          // of this request
  uint32_t unacknowledged_bytes_ = 0;  // of all
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_HEADER_GUARD_H_
