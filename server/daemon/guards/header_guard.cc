#include "server/daemon/guards/header_guard.h"

namespace muster::daemon {

bool HeaderGuard::Admit(const Http2Frame& frame) {
  if (frame.type == kSettings && (frame.flags & kAcknowledges) != 0) acknowledged_ = true;
  if (frame.type == kHeaders || frame.type == kContinuation) {
    // A frame's own header counts too, because a peer may send any number of empty frames.
    CountHeaders(frame.size + Http2Frame::kHeaderBytes, frame.type == kHeaders);
  }
  return !too_long_;
}

void HeaderGuard::CountHeaders(uint32_t bytes, bool first_frame) {
  if (too_long_) return;
  if (first_frame) header_bytes_ = 0;
  header_bytes_ += bytes;
  if (!acknowledged_) unacknowledged_bytes_ += bytes;
  too_long_ = header_bytes_ > kMaxBytes + Http2Frame::kHeaderBytes ||
              unacknowledged_bytes_ > kMaxBytesUnacknowledged;
}

}  // namespace muster::daemon
