#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_PENDING_CALL_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_PENDING_CALL_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/src/base/backoff.h"
#include "client/src/base/deadline.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/groups/member_group.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "client/src/protocol/messages/member_effects.h"
#include "client/src/protocol/messages/member_requests.h"
#include "client/src/protocol/messages/session_state.h"

namespace muster::internal {

// A call from beginning to end. It waits for a session, is in flight, or pauses before a retry.
struct PendingCall {
  PendingCall(std::string name, const Deadline& d, SteadyTime now)
      : what(std::move(name)), deadline(d), start(now) {}

  std::string what;  // "Barrier('epoch 1') op 12 of the world"
  Deadline deadline;
  SteadyTime start;

  // The epoch of the call: its end ends the call, and an ABORTED of the coordinator breaks it. If
  // unset, ABORTED fails the member.
  std::optional<EpochId> epoch;
  // Whether the call goes on after its epoch has ended.
  bool outlives_epoch = false;
  // Whether the call leads into the next epoch. It ends if no epoch follows.
  bool leads_on = false;
  // The only session in which the call is valid. It is cancelled with that session, and its ABORTED
  // breaks no epoch.
  std::optional<SessionId> only_in;
  // Whether this is the member's last call (Leave). Its reply counts whatever has happened to the
  // session and the job.
  bool last = false;
  // Whether the call belongs to the member, not to the program.
  bool in_background = false;
  // Whether the member waits for this call before it leaves.
  bool before_leave = false;
  // A background call that must end before this one is sent; 0 if there is none. It withdraws a
  // refused arrival at the same number, which could otherwise still count instead of this call.
  CallId after = 0;
  // The group of a collective. A background call ends when this group is closed.
  std::shared_ptr<MemberGroup> group;
  bool is_collective() const { return group != nullptr && !in_background; }
  // The attempt of the arrival for whose round this call carries a batch. Such a call is sent
  // once, and ends with the round.
  std::optional<uint64_t> carries;

  // Returns the request of a send, without its CallContext. The fields that identify a collective
  // or a lease are the same in each send.
  std::function<Request(SteadyTime now)> request;
  // For a collective: returns why the call must not be sent yet, as its time-out words it; empty if
  // it may be sent.
  std::function<absl::string_view(SteadyTime now, const MemberGroup& group)> blocked_by;
  // For a collective: arrives with node fan-in instead of the first send. Returns false if the call
  // must be sent.
  std::function<bool(SteadyTime now, CallId id, PendingCall* call)> start_round;
  // Applies the end of the call to the member's state. May change the program's reply.
  std::function<void(const PendingCall& call, absl::StatusOr<Response>* reply)> on_end;

  bool cancelled = false;
  int sends = 0;
  std::optional<Stamp> in_flight;
  bool in_round = false;  // the arrival in flight is in a round, and no call was sent
  // Whether a sender may complete the collective on the node in that round. Then the call leaves
  // the round in two steps (docs/node-fan-in.md, R17): it asks to, and learns at the round's end
  // whether the collective has completed. Until then, the member neither calls nor claims.
  bool may_commit = false;
  bool leaves_round = false;
  bool answered = false;  // whether the coordinator has answered in the current session
  SteadyTime sent_at;
  std::optional<SteadyTime> paused_until;
  // Since when every send has failed at once with UNAVAILABLE.
  std::optional<SteadyTime> unavailable_since;
  Backoff backoff;
  SteadyTime ended;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_PENDING_CALL_H_
