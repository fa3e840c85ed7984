#ifndef MUSTER_SERVER_DAEMON_HEADER_GUARD_H_
#define MUSTER_SERVER_DAEMON_HEADER_GUARD_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace muster::daemon {

// Follows what a peer sends on one HTTP/2 connection, frame by frame, and says when its headers are
// more than it may send. gRPC 1.51 has no such bound: GRPC_ARG_MAX_METADATA_SIZE counts from zero
// in each CONTINUATION frame, does not count a header that is not complete, and holds only once the
// peer has acknowledged the setting. What is encrypted it cannot follow, and admits.
class HeaderGuard {
 public:
  // The headers of one request. gRPC's clients are told to send at most 8 KiB, uncompressed.
  static constexpr uint32_t kMostBytes = 16 << 10;
  // The bound on all requests before the peer acknowledges our settings, as soon as it knows them.
  static constexpr uint32_t kMostBytesUnacknowledged = 64 << 10;

  // Takes the connection's next bytes. False if it must be closed, and ever after.
  bool Admit(absl::string_view bytes);

 private:
  static constexpr size_t kFrameHeaderBytes = 9;

  void Skip(absl::string_view* bytes);
  void ReadFrameHeader(absl::string_view* bytes);
  void BeginFrame();
  void CountHeaders(uint32_t bytes, bool first_frame);

  bool begun_ = false;
  bool encrypted_ = false;
  uint32_t skip_ = 24;  // of the connection's preface, then of each frame's payload
  std::array<uint8_t, kFrameHeaderBytes> frame_;
  uint8_t frame_bytes_ = 0;
  bool acknowledged_ = false;
  bool too_long_ = false;
  uint32_t header_bytes_ = 0;          // of this request
  uint32_t unacknowledged_bytes_ = 0;  // of all
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_HEADER_GUARD_H_
