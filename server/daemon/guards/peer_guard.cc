#include "server/daemon/guards/peer_guard.h"

namespace muster::daemon {

PeerGuard::PeerGuard(BytePool* unadmitted) {
  if (unadmitted != nullptr) calls_.emplace(unadmitted);
}

PeerGuard::Result PeerGuard::Received(absl::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (result_ == Result::kOk) {
    const std::optional<Http2Frame> frame = received_.Next(&bytes);
    if (!frame) break;
    Follow(*frame);
  }
  return result_;
}

void PeerGuard::Follow(const Http2Frame& frame) {
  if (!headers_.Admit(frame)) {
    result_ = Result::kHeadersTooLong;
  } else if (calls_ && !calls_->Received(frame)) {
    result_ = Result::kTooMuchMemory;
  }
}

void PeerGuard::Sent(absl::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!calls_) return;
  while (const std::optional<Http2Frame> frame = sent_.Next(&bytes)) calls_->Sent(*frame);
}

void PeerGuard::Admit() {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_.reset();
}

}  // namespace muster::daemon
