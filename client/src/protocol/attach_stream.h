#ifndef MUSTER_CLIENT_SRC_PROTOCOL_ATTACH_STREAM_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_ATTACH_STREAM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/src/base/backoff.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/member_lifecycle.h"
#include "client/src/protocol/messages/member_options.h"
#include "client/src/protocol/messages/member_outbox.h"
#include "client/src/protocol/messages/session_state.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// The member's Attach stream: opens it, reopens it after failures, and keeps what the coordinator
// announced in its first response. Ends the member's epoch if the coordinator cannot be reached for
// coordinator_timeout. Pure: no I/O, no threads, no clock.
class AttachStream {
 public:
  AttachStream(const MemberOptions& options, const MemberEpochs& epochs, SessionState* session,
               MemberLifecycle* lifecycle, MemberOutbox* outbox);
  AttachStream(const AttachStream&) = delete;
  AttachStream& operator=(const AttachStream&) = delete;

  // Opens a stream with this claim. Responses of an older stream no longer count.
  void Open(SteadyTime now, std::optional<v1::Claim> claim);
  // Opens a stream, and then cancels the older one.
  void Replace(SteadyTime now, v1::Claim claim);
  // Cancels the stream and stops reopening it.
  void Close();

  // Applies the first response of the latest stream. Returns false, and fails the member, if this
  // SDK does not understand it.
  bool TakeFirstResponse(SteadyTime now, const v1::AttachResponse& response);
  // Returns whether the latest stream has had its first response.
  bool answered() const { return answered_; }
  // Applies the end of a stream. Returns false, and does nothing, if `attempt` is not the latest
  // stream's.
  bool TakeEnd(SteadyTime now, uint64_t attempt, const absl::Status& status);
  // Notes why a call could not reach the coordinator, for messages.
  void NoteError(absl::string_view error) { last_error_ = std::string(error); }

  // Returns whether a stream has ended, and its back-off has passed.
  bool MustReopen(SteadyTime now) const { return reopen_at_ && now >= *reopen_at_; }
  // Ends the latest epoch if the coordinator has been away for coordinator_timeout.
  void GiveUpIfDue(SteadyTime now);
  // Returns when GiveUpIfDue() has something to do next, or MustReopen() unless the stream must
  // wait; or SteadyTime::max().
  SteadyTime NextDeadline(bool must_wait) const;

  // Returns whether a coordinator has ever answered. The three accessors below return what it
  // announced then.
  bool registered() const { return registered_; }
  bool node_collectives() const { return node_collectives_; }
  bool node_commits() const { return node_commits_; }
  const v1::Limits& limits() const { return limits_; }
  // See MemberCore::LossKnownBy().
  SteadyTime LossKnownBy(SteadyTime since) const;

  // Returns since when the member has had no session. Valid only while it has none.
  SteadyTime detached_since() const { return detached_since_; }
  // Returns the latest network error, or an empty string if there was none since the first
  // response.
  const std::string& last_error() const { return last_error_; }
  // Returns "could not reach the coordinator at host:7370 for 10m (last error: ...)".
  std::string NotReachedSince(SteadyTime since, SteadyTime now) const;

 private:
  v1::AttachRequest NewRequest(std::optional<v1::Claim> claim) const;
  // Fails the member with the error that this status means to the program.
  void Fail(const absl::Status& status);
  void LogEnd();
  void LogReattached(bool recovering);
  // Returns when the member gives up its epoch because it cannot reach the coordinator, or
  // SteadyTime::max().
  SteadyTime GivesUpAt() const;

  const MemberOptions& options_;
  const MemberEpochs& epochs_;
  SessionState& session_;
  MemberLifecycle& lifecycle_;
  MemberOutbox& outbox_;

  uint64_t attempt_ = 0;  // of the latest stream; 0 before the first
  bool answered_ = false;
  // When to reopen a stream that has ended; unset if that is pointless.
  std::optional<SteadyTime> reopen_at_;
  Backoff backoff_;
  bool registered_ = false;
  bool node_collectives_ = false;
  bool node_commits_ = false;
  v1::Limits limits_;
  absl::Duration member_grace_;
  // Until when a restarted coordinator may wait for the members of its epoch.
  SteadyTime roster_complete_by_;
  SteadyTime detached_since_;
  std::string last_error_;
  bool trouble_logged_ = false;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_ATTACH_STREAM_H_
