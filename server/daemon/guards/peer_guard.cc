#include "server/daemon/guards/peer_guard.h"

namespace muster::daemon {

PeerGuard::PeerGuard(BytePool* unadmitted) {
  if (unadmitted != nullptr) calls_.emplace(unadmitted);
}

PeerGuard::Verdict PeerGuard::Received(absl::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (verdict_ == Verdict::kFine) {
    const std::optional<Frame> frame = received_.Next(&bytes);
    if (!frame) break;
    Follow(*frame);
  }
  return verdict_;
}

void PeerGuard::Follow(const Frame& frame) {
  if (!headers_.Admit(frame)) {
    verdict_ = Verdict::kLongHeaders;
  } else if (calls_ && !calls_->Received(frame)) {
    verdict_ = Verdict::kHoldsTooMuch;
  }
}

void PeerGuard::Sent(absl::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!calls_) return;
  while (const std::optional<Frame> frame = sent_.Next(&bytes)) calls_->Sent(*frame);
}

void PeerGuard::Admit() {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_.reset();
}

}  // namespace muster::daemon
