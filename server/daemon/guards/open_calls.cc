#include "server/daemon/guards/open_calls.h"

#include <algorithm>

namespace muster::daemon {
namespace {

bool HasContent(const Http2Frame& frame) {
  return frame.type == kData || frame.type == kHeaders || frame.type == kContinuation;
}

bool EndsStream(const Http2Frame& frame) {
  const bool may = frame.type == kData || frame.type == kHeaders;
  return frame.type == kResetStream || (may && (frame.flags & kEndsStream) != 0);
}

}  // namespace

// Ignores frames of streams that have ended or never began, as gRPC does.
bool OpenCalls::Received(const Http2Frame& frame) {
  if (frame.type == kResetStream) End(frame.stream);
  if (!HasContent(frame)) return true;
  const bool opens = frame.type == kHeaders && frame.stream > last_stream_;
  if (opens) {
    last_stream_ = frame.stream;
    calls_[frame.stream] = 0;
  }
  const auto call = calls_.find(frame.stream);
  if (call == calls_.end()) return true;
  const uint64_t bytes = frame.size + (opens ? kCallBytes : kFrameBytes);
  call->second += bytes;
  held_ += bytes;
  return Settle();
}

void OpenCalls::Sent(const Http2Frame& frame) {
  if (EndsStream(frame)) End(frame.stream);
}

void OpenCalls::End(uint32_t stream) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return;
  held_ -= call->second;
  calls_.erase(call);
  Settle();
}

bool OpenCalls::Settle() {
  const uint64_t needed = held_ - std::min(held_, kOwnBytes);
  if (needed < taken_) {
    pool_->GiveBack(taken_ - needed);
  } else if (!pool_->Take(needed - taken_)) {
    return false;
  }
  taken_ = needed;
  return true;
}

}  // namespace muster::daemon
