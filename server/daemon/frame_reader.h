#ifndef MUSTER_SERVER_DAEMON_FRAME_READER_H_
#define MUSTER_SERVER_DAEMON_FRAME_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace muster::daemon {

// The types and flags of HTTP/2's frames that the guards look at (RFC 9113).
inline constexpr uint8_t kData = 0;
inline constexpr uint8_t kHeaders = 1;
inline constexpr uint8_t kResetStream = 3;
inline constexpr uint8_t kSettings = 4;
inline constexpr uint8_t kContinuation = 9;
inline constexpr uint8_t kAcknowledges = 1;  // of kSettings
inline constexpr uint8_t kEndsStream = 1;    // of kData and kHeaders

// What the header of a frame says.
struct Frame {
  static constexpr uint32_t kHeaderBytes = 9;

  uint32_t size = 0;  // of the payload that follows the header
  uint8_t type = kData;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Finds the frames in what one side of an HTTP/2 connection sends, in whatever pieces it comes.
class FrameReader {
 public:
  static constexpr uint32_t kClientPreface = 24;  // what a client sends before its first frame

  explicit FrameReader(uint32_t preface) : skip_(preface) {}

  // Returns the next frame whose header is complete, and removes what has been read from `bytes`.
  // Returns nullopt when all of `bytes` has been read.
  std::optional<Frame> Next(absl::string_view* bytes);

 private:
  void Skip(absl::string_view* bytes);
  bool ReadHeader(absl::string_view* bytes);
  Frame Begin();

  uint32_t skip_;
  std::array<uint8_t, Frame::kHeaderBytes> header_;
  uint8_t header_bytes_ = 0;
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_FRAME_READER_H_
