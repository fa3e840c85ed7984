#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_GROUP_ARRIVALS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_GROUP_ARRIVALS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "client/src/protocol/messages/collective_call.h"
#include "client/src/protocol/messages/member_effects.h"
#include "client/src/protocol/messages/member_requests.h"
#include "client/src/protocol/messages/session_state.h"

namespace muster::internal {

// The part of one member's arrivals in a group that the coordinator knows of, or may still hear of.
// Pure: no I/O, no threads, no clock.
class GroupArrivals {
 public:
  // Notes that a collective of this kind completed in this session. From then on, the coordinator
  // knows the ranks of the group. On the node, a collective completes only if it knows them already
  // (NodeFanIn).
  void Completed(const std::optional<SessionId>& session, CollectiveKind kind,
                 const Response& answer);
  bool IsKnownIn(const std::optional<SessionId>& session) const { return known_in_ == session; }
  // Notes that the coordinator may take the group for released, until a call tells it otherwise.
  void MayBeReleased() { known_in_.reset(); }
  // Returns the size of the latest answer of this kind.
  size_t AnswerBytes(CollectiveKind kind) const { return answer_bytes_[static_cast<size_t>(kind)]; }

  // Notes the first send of the current number.
  void SentFirst(const SessionId& session) { first_sent_in_ = session; }
  // Returns whether the first send of the current number went to this daemon. WasSent() returns
  // whether there was one.
  bool WasSentFirstTo(uint64_t daemon_instance) const {
    return first_sent_in_ && first_sent_in_->daemon_instance == daemon_instance;
  }
  bool WasSent() const { return first_sent_in_.has_value(); }

  // Notes that an arrival at the current number may still reach the coordinator in this session.
  // Another member has or had it, or the coordinator refused a retry of it.
  void MayComeLate(const std::optional<SessionId>& session) { unsettled_in_ = session; }
  bool MayComeLateIn(const std::optional<SessionId>& session) const {
    return unsettled_in_ && unsettled_in_ == session;
  }
  // Notes that no such arrival is left.
  void Settle() { unsettled_in_.reset(); }

  // The background call that withdraws such an arrival; 0 if there is none.
  CallId withdrawal() const { return withdrawal_; }
  void BeginWithdrawal(CallId call) { withdrawal_ = call; }
  // Returns the call that ends.
  CallId EndWithdrawal() { return std::exchange(withdrawal_, 0); }

 private:
  std::optional<SessionId> known_in_;
  std::optional<SessionId> first_sent_in_;
  std::optional<SessionId> unsettled_in_;
  CallId withdrawal_ = 0;
  std::array<size_t, 4> answer_bytes_ = {};
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_GROUP_ARRIVALS_H_
