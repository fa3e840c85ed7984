#include "server/daemon/header_guard.h"

#include <algorithm>
#include <cstring>

namespace muster::daemon {
namespace {

// RFC 9113.
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kSettings = 4;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kAcknowledges = 1;
// RFC 8446: how a record of a handshake begins. A connection in plain begins with "PRI", or gRPC
// closes it.
constexpr char kTlsHandshake = 0x16;

}  // namespace

bool HeaderGuard::Admit(absl::string_view bytes) {
  if (!begun_ && !bytes.empty()) {
    begun_ = true;
    encrypted_ = bytes.front() == kTlsHandshake;
  }
  if (encrypted_) return true;
  while (!bytes.empty() && !too_long_) {
    if (skip_ > 0) {
      Skip(&bytes);
    } else {
      ReadFrameHeader(&bytes);
    }
  }
  return !too_long_;
}

void HeaderGuard::Skip(absl::string_view* bytes) {
  const size_t skipped = std::min<size_t>(skip_, bytes->size());
  bytes->remove_prefix(skipped);
  skip_ -= static_cast<uint32_t>(skipped);
}

void HeaderGuard::ReadFrameHeader(absl::string_view* bytes) {
  const size_t size = std::min<size_t>(kFrameHeaderBytes - frame_bytes_, bytes->size());
  std::memcpy(frame_.data() + frame_bytes_, bytes->data(), size);
  bytes->remove_prefix(size);
  frame_bytes_ += static_cast<uint8_t>(size);
  if (frame_bytes_ == kFrameHeaderBytes) BeginFrame();
}

void HeaderGuard::BeginFrame() {
  frame_bytes_ = 0;
  skip_ = frame_[0] << 16 | frame_[1] << 8 | frame_[2];
  const uint8_t type = frame_[3];
  const uint8_t flags = frame_[4];
  if (type == kSettings && (flags & kAcknowledges) != 0) acknowledged_ = true;
  if (type == kHeaders || type == kContinuation) {
    // The frame's own header counts too: there may be any number of empty ones.
    CountHeaders(skip_ + kFrameHeaderBytes, type == kHeaders);
  }
}

void HeaderGuard::CountHeaders(uint32_t bytes, bool first_frame) {
  if (first_frame) header_bytes_ = 0;
  header_bytes_ += bytes;
  if (!acknowledged_) unacknowledged_bytes_ += bytes;
  too_long_ = header_bytes_ > kMostBytes + kFrameHeaderBytes ||
              unacknowledged_bytes_ > kMostBytesUnacknowledged;
}

}  // namespace muster::daemon
