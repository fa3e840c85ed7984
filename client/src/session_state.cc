#include "client/src/session_state.h"

namespace muster::internal {

uint64_t SessionState::BeginAttach() {
  attach_ = ++last_attempt_;
  session_.reset();
  return attach_;
}

bool SessionState::Attached(uint64_t attach, const SessionId& session) {
  if (!IsLatest(attach)) return false;
  session_ = session;
  return true;
}

bool SessionState::Detached(uint64_t attach) {
  if (!IsLatest(attach)) return false;
  session_.reset();
  return true;
}

Stamp SessionState::NewStamp() { return Stamp{*session_, ++last_attempt_}; }

bool SessionState::IsCurrent(const Stamp& stamp) const { return session_ == stamp.session; }

void SessionState::Joined(const EpochId& epoch) {
  epoch_ = epoch;
  if (early_break_) EpochBroken(early_break_->first, early_break_->second);
  early_break_.reset();
}

void SessionState::EpochBroken(const EpochId& epoch, const absl::Status& why) {
  if (!epoch_) {
    early_break_.emplace(epoch, why);
  } else if (*epoch_ == epoch) {
    Break(why);
  }
}

void SessionState::Break(const absl::Status& why) { health_.Update(why); }

}  // namespace muster::internal
