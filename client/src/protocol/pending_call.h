#ifndef MUSTER_CLIENT_SRC_PROTOCOL_PENDING_CALL_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_PENDING_CALL_H_

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
#include "client/src/protocol/effects.h"
#include "client/src/protocol/epoch_id.h"
#include "client/src/protocol/member_group.h"
#include "client/src/protocol/requests.h"
#include "client/src/protocol/session_state.h"

namespace muster::internal {

// A call from its beginning to its end: it waits for a session, is in flight, or pauses before it
// is sent again.
struct PendingCall {
  PendingCall(std::string name, const Deadline& d, SteadyTime now)
      : what(std::move(name)), deadline(d), start(now) {}

  std::string what;  // "Barrier('epoch 1') op 12 of the world"
  Deadline deadline;
  SteadyTime start;

  // The epoch that an ABORTED of the coordinator breaks, and with whose end the call ends. Without
  // one: the member.
  std::optional<EpochId> epoch;
  // The call goes on when its epoch ends.
  bool outlives_epoch = false;
  // The call leads into the next epoch, and ends if there is none.
  bool leads_on = false;
  // The only session in which the call makes sense; its answer then means nothing.
  std::optional<SessionId> only_in;
  // The member's last call: its reply counts whatever becomes of session and job meanwhile.
  bool last = false;
  // A call that the program does not wait for.
  bool in_background = false;
  // The member does not leave before it has ended.
  bool before_leave = false;
  // It is not sent before this other call, of the background, has ended; 0: there is none.
  CallId after = 0;
  // The group whose collective it is. A call of the background ends when this group is closed.
  std::shared_ptr<MemberGroup> group;
  bool is_collective() const { return group != nullptr && !in_background; }
  // The arrival, by its attempt, for which this call is sent together with those of others: it is
  // sent once, and ends with the meeting.
  std::optional<uint64_t> carries;

  // What to send now, without its CallContext. Whatever names a collective or a lease is the same
  // at each send.
  std::function<Request(SteadyTime now)> request;
  // Of a collective: why the call must not be sent yet, in the words of its time-out; empty if it
  // may be sent.
  std::function<absl::string_view(SteadyTime now, const MemberGroup& group)> held_up_by;
  // Of a collective: arrives together with other members of the node in place of the first send.
  // Returns false if the call is to be sent.
  std::function<bool(SteadyTime now, CallId id, const PendingCall& call)> meet;
  // Applies the end of the call to the member's state, and may change what the program gets.
  std::function<void(const PendingCall& call, absl::StatusOr<Response>* reply)> on_end;

  bool cancelled = false;
  int sends = 0;
  std::optional<Stamp> in_flight;
  bool meeting = false;   // what is in flight is an arrival at the node, not a call
  bool answered = false;  // the coordinator has, in the current session
  SteadyTime sent_at;
  std::optional<SteadyTime> paused_until;
  // Since when every send was answered at once with UNAVAILABLE.
  std::optional<SteadyTime> unavailable_since;
  Backoff backoff;
  SteadyTime ended;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_PENDING_CALL_H_
