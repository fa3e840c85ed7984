#ifndef MUSTER_CLIENT_SRC_PROTOCOL_PENDING_CALLS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_PENDING_CALLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/attach_stream.h"
#include "client/src/protocol/effects.h"
#include "client/src/protocol/lifecycle.h"
#include "client/src/protocol/member_options.h"
#include "client/src/protocol/membership.h"
#include "client/src/protocol/outbox.h"
#include "client/src/protocol/pending_call.h"
#include "client/src/protocol/session_state.h"

namespace muster::internal {

// The calls of a member that have not ended, those of the program and those of the background.
// Sends each one when its session and its group allow it, sends it again after a failure of the
// network, drops replies that do not count, and ends it exactly once. Pure: no I/O, no threads, no
// clock.
class PendingCalls {
 public:
  PendingCalls(const MemberOptions& options, const Membership& membership, SessionState* session,
               Lifecycle* lifecycle, AttachStream* stream, Outbox* outbox);
  PendingCalls(const PendingCalls&) = delete;
  PendingCalls& operator=(const PendingCalls&) = delete;

  // Begins a call of the program, which ends with one Completion.
  void Begin(CallId id, PendingCall call) { calls_.emplace(id, std::move(call)); }
  // Makes a call of the background, which keeps trying for coordinator_timeout; begins one.
  PendingCall NewInBackground(SteadyTime now, std::string what) const;
  CallId BeginInBackground(PendingCall call);
  // The program does not wait for the call any longer. Unknown ids are ignored.
  void Cancel(CallId id);
  // Forgets a call of the background without its end. Unknown ids are ignored.
  void Drop(CallId id);
  // The group is closed: its call is to be sent as the first one of a new life, and what the
  // background does for the group is dropped.
  void RestartCallsOf(const MemberGroup& group);
  // Whether a collective of this group is in progress.
  bool IsCalled(const MemberGroup& group) const;

  // Moves every call on as far as it gets now. Returns whether one has ended, which may set others
  // free.
  bool Advance(SteadyTime now);
  // The reply to the send with this attempt.
  void TakeReply(SteadyTime now, uint64_t attempt, const absl::Status& status, Response response);
  // When Advance() has something to do next; SteadyTime::max() if nothing is due.
  SteadyTime NextDeadline() const;

  // ---- Calls that are meeting others of the node: PendingCall::meet ----
  // The call whose arrival has this attempt; nullptr if it is not meeting, or not any more.
  const PendingCall* FindMeeting(uint64_t attempt) const;
  // Ends its meeting: it is sent under the same attempt, is sent anew, or is answered.
  void SendAlone(SteadyTime now, uint64_t attempt);
  void SendAnew(uint64_t attempt);
  void Answer(SteadyTime now, uint64_t attempt, Response answer);
  // No meeting counts any more; the calls are sent anew.
  void LeaveMeetings();

 private:
  using Calls = std::map<CallId, PendingCall>;

  void Advance(SteadyTime now, CallId id, PendingCall* call);
  void Send(SteadyTime now, CallId id, PendingCall* call);
  // Under the stamp that it has.
  void SendInFlight(SteadyTime now, PendingCall* call);
  void Withdraw(PendingCall* call);
  void TakeReply(SteadyTime now, CallId id, PendingCall* call, const absl::Status& status,
                 Response response);
  void PauseBeforeRetry(SteadyTime now, CallId id, PendingCall* call, absl::string_view why);
  void End(SteadyTime now, CallId id, absl::StatusOr<Response> reply);
  Calls::iterator FindSend(uint64_t attempt);

  // Whether and why a call must end whatever it waits for.
  absl::Status Interruption(const PendingCall& call) const;
  bool MustWaitForBackground(SteadyTime now, const PendingCall& call) const;
  // Ends the call if it has waited for its group for too long.
  void WaitForGroup(SteadyTime now, CallId id, PendingCall* call, absl::string_view why);
  // When waiting for what the call waits for ends.
  SteadyTime DeadlineOf(const PendingCall& call) const;
  SteadyTime SessionDeadline(const PendingCall& call) const;
  absl::Status Unreachable(SteadyTime now, const PendingCall& call) const;
  absl::Status NotRegistered(const PendingCall& call) const;

  const MemberOptions& options_;
  const Membership& membership_;
  SessionState& session_;
  Lifecycle& lifecycle_;
  AttachStream& stream_;
  Outbox& outbox_;

  Calls calls_;
  uint64_t ends_ = 0;                    // number of calls that have ended
  CallId next_background_ = 1ull << 63;  // above what the surroundings use
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_PENDING_CALLS_H_
