#ifndef MUSTER_SERVER_DAEMON_GUARDS_HTTP2_FRAME_READER_H_
#define MUSTER_SERVER_DAEMON_GUARDS_HTTP2_FRAME_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace muster::daemon {

// The types and flags of HTTP/2 frames that the guards look at (RFC 9113).
inline constexpr uint8_t kData = 0;
inline constexpr uint8_t kHeaders = 1;
inline constexpr uint8_t kResetStream = 3;
inline constexpr uint8_t kSettings = 4;
inline constexpr uint8_t kContinuation = 9;
inline constexpr uint8_t kAcknowledges = 1;  // a flag of kSettings
inline constexpr uint8_t kEndsStream = 1;    // a flag of kData and kHeaders

// The header of a frame.
struct Http2Frame {
  static constexpr uint32_t kHeaderBytes = 9;

  uint32_t size = 0;  // bytes of payload after the header
  uint8_t type = kData;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// A reader of the frames that one side of an HTTP/2 connection sends, in pieces of any size.
class Http2FrameReader {
 public:
  static constexpr uint32_t kClientPreface = 24;  // sent before a client's first frame

  explicit Http2FrameReader(uint32_t preface) : skip_(preface) {}

  // Returns the next frame whose header is complete, and removes what it has read from `bytes`.
  // Returns nullopt once all of `bytes` is read.
  std::optional<Http2Frame> Next(absl::string_view* bytes);

 private:
  void Skip(absl::string_view* bytes);
  bool ReadHeader(absl::string_view* bytes);
  Http2Frame Begin();

  uint32_t skip_;
  std::array<uint8_t, Http2Frame::kHeaderBytes> header_;
  uint8_t header_bytes_ = 0;
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_GUARDS_HTTP2_FRAME_READER_H_
