#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUP_ARRIVALS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUP_ARRIVALS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "client/src/protocol/collective_call.h"
#include "client/src/protocol/effects.h"
#include "client/src/protocol/requests.h"
#include "client/src/protocol/session_state.h"

namespace muster::internal {

// What the coordinator knows, or may yet hear, of one member's arrivals in a group. Pure: no I/O,
// no threads, no clock.
class GroupArrivals {
 public:
  // A collective of this kind has completed in this session: the coordinator knows the ranks of the
  // group.
  void Completed(const std::optional<SessionId>& session, CollectiveKind kind,
                 const Response& answer);
  bool IsKnownIn(const std::optional<SessionId>& session) const { return known_in_ == session; }
  // How large the latest answer of this kind was.
  size_t AnswerBytes(CollectiveKind kind) const { return answer_bytes_[static_cast<size_t>(kind)]; }

  // The current number was sent for the first time.
  void SentFirst(const SessionId& session) { first_sent_in_ = session; }
  // Whether that send went to this daemon, or was made at all.
  bool WasSentFirstTo(uint64_t daemon_instance) const {
    return first_sent_in_ && first_sent_in_->daemon_instance == daemon_instance;
  }
  bool WasSent() const { return first_sent_in_.has_value(); }

  // In this session an arrival at the current number, which another member has or had, or which was
  // refused when it was sent again, may reach the coordinator yet.
  void MayComeLate(const std::optional<SessionId>& session) { unsettled_in_ = session; }
  bool MayComeLateIn(const std::optional<SessionId>& session) const {
    return unsettled_in_ && unsettled_in_ == session;
  }
  // None may any more.
  void Settle() { unsettled_in_.reset(); }

  // The call of the background that takes such an arrival back; 0: there is none.
  CallId taking_back() const { return taking_back_; }
  void BeginTakingBack(CallId call) { taking_back_ = call; }
  // Returns the call that there was.
  CallId EndTakingBack() { return std::exchange(taking_back_, 0); }

 private:
  std::optional<SessionId> known_in_;
  std::optional<SessionId> first_sent_in_;
  std::optional<SessionId> unsettled_in_;
  CallId taking_back_ = 0;
  std::array<size_t, 4> answer_bytes_ = {};
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUP_ARRIVALS_H_
