#ifndef MUSTER_SERVER_DAEMON_GUARDS_HEADER_GUARD_H_
#define MUSTER_SERVER_DAEMON_GUARDS_HEADER_GUARD_H_

#include <cstdint>

#include "server/daemon/guards/http2_frame_reader.h"

namespace muster::daemon {

// A bound on the headers that a peer may send. gRPC 1.51 has no such bound:
// GRPC_ARG_MAX_METADATA_SIZE counts from zero in each CONTINUATION frame, ignores headers that are
// not complete, and applies only once the peer has acknowledged the setting.
class HeaderGuard {
 public:
  // The bound on the headers of one request. gRPC tells its clients to send at most 8 KiB, before
  // compression.
  static constexpr uint32_t kMaxBytes = 16 << 10;
  // The bound on the headers of all requests until the peer acknowledges the settings, which it
  // does as soon as it knows them.
  static constexpr uint32_t kMaxBytesUnacknowledged = 64 << 10;

  // Takes the peer's next frame. Returns false if the connection must be closed; every later call
  // then returns false too.
  bool Admit(const Http2Frame& frame);

 private:
  void CountHeaders(uint32_t bytes, bool first_frame);

  bool acknowledged_ = false;
  bool too_long_ = false;
  uint32_t header_bytes_ = 0;          // of the current request
  uint32_t unacknowledged_bytes_ = 0;  // of all requests
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_GUARDS_HEADER_GUARD_H_
