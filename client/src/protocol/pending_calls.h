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
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/groups/pending_call.h"
#include "client/src/protocol/member_lifecycle.h"
#include "client/src/protocol/messages/member_effects.h"
#include "client/src/protocol/messages/member_options.h"
#include "client/src/protocol/messages/member_outbox.h"
#include "client/src/protocol/messages/session_state.h"

namespace muster::internal {

// The member's calls that have not ended: the program's and the background's. Sends each call when
// its session and its group allow it, retries it after network failures, drops replies that no
// longer count, and ends it exactly once. Pure: no I/O, no threads, no clock.
class PendingCalls {
 public:
  PendingCalls(const MemberOptions& options, const MemberEpochs& epochs, SessionState* session,
               MemberLifecycle* lifecycle, AttachStream* stream, MemberOutbox* outbox);
  PendingCalls(const PendingCalls&) = delete;
  PendingCalls& operator=(const PendingCalls&) = delete;

  // Begins a call of the program, which ends with one Completion.
  void Begin(CallId id, PendingCall call) { calls_.emplace(id, std::move(call)); }
  // NewInBackground() makes a call that retries for coordinator_timeout, and BeginInBackground()
  // begins it.
  PendingCall NewInBackground(SteadyTime now, std::string what) const;
  CallId BeginInBackground(PendingCall call);
  // Cancels a call of the program. Ignores unknown ids.
  void Cancel(CallId id);
  // Forgets a background call without calling its on_end. Ignores unknown ids.
  void Drop(CallId id);
  // Restarts the calls of a closed group: its collective will be sent as the first one of the
  // group's next life, and its background calls are dropped.
  void RestartCallsOf(const MemberGroup& group);
  // Returns whether a collective of this group is in progress.
  bool IsCalled(const MemberGroup& group) const;

  // Advances every call as far as possible. Returns whether a call has ended, which may unblock
  // others.
  bool Advance(SteadyTime now);
  // Applies the reply to the send with this attempt.
  void TakeReply(SteadyTime now, uint64_t attempt, const absl::Status& status, Response response);
  // Returns when Advance() has something to do next, or SteadyTime::max().
  SteadyTime NextDeadline() const;

  // ---- Calls whose arrival is in a round: PendingCall::start_round ----
  // Returns the call whose arrival has this attempt, or nullptr if it is not in a round, or is
  // about to leave it.
  const PendingCall* FindInRound(uint64_t attempt) const;
  // Does the same, also for a call that is about to leave its round.
  const PendingCall* FindRound(uint64_t attempt) const;
  // Returns whether a call is about to leave its round.
  bool LeavesRounds() const;
  // Each of these ends the call's round. SendAlone() sends the call under the same attempt,
  // SendAnew() lets Advance() send it under a new one, and Answer() ends it.
  void SendAlone(SteadyTime now, uint64_t attempt);
  void SendAnew(uint64_t attempt);
  void Answer(SteadyTime now, uint64_t attempt, Response answer);
  // Leaves all rounds, so that their calls are sent anew.
  void LeaveRounds();

 private:
  using Calls = std::map<CallId, PendingCall>;

  void Advance(SteadyTime now, CallId id, PendingCall* call);
  void Send(SteadyTime now, CallId id, PendingCall* call);
  // Sends the call under its current stamp.
  void SendInFlight(SteadyTime now, PendingCall* call);
  void Withdraw(PendingCall* call);
  // Begins to leave the call's round, which may complete the collective until it ends.
  void BeginToLeave(PendingCall* call);
  static void EndRound(PendingCall* call);
  absl::Status Named(const PendingCall& call, const absl::Status& error) const;
  void TakeReply(SteadyTime now, CallId id, PendingCall* call, const absl::Status& status,
                 Response response);
  void PauseBeforeRetry(SteadyTime now, CallId id, PendingCall* call, absl::string_view why);
  void End(SteadyTime now, CallId id, absl::StatusOr<Response> reply);
  Calls::iterator FindSend(uint64_t attempt);

  // Returns why a call must end now, whatever it waits for, or OK.
  absl::Status Interruption(const PendingCall& call) const;
  bool MustAwaitRounds(const PendingCall& call) const;
  bool MustWaitForBackground(SteadyTime now, const PendingCall& call) const;
  // Ends the call if it has waited for its group for too long.
  void WaitForGroup(SteadyTime now, CallId id, PendingCall* call, absl::string_view why);
  // Returns when the call stops waiting for what it waits for now.
  SteadyTime DeadlineOf(const PendingCall& call) const;
  SteadyTime SessionDeadline(const PendingCall& call) const;
  absl::Status Unreachable(SteadyTime now, const PendingCall& call) const;
  absl::Status NotRegistered(const PendingCall& call) const;

  const MemberOptions& options_;
  const MemberEpochs& epochs_;
  SessionState& session_;
  MemberLifecycle& lifecycle_;
  AttachStream& stream_;
  MemberOutbox& outbox_;

  Calls calls_;
  uint64_t ends_ = 0;                    // number of calls that have ended
  CallId next_background_ = 1ull << 63;  // above the ids that callers use
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_PENDING_CALLS_H_
