#include "client/src/protocol/messages/session_state.h"

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

}  // namespace muster::internal
