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
#include "client/src/protocol/lifecycle.h"
#include "client/src/protocol/member_options.h"
#include "client/src/protocol/membership.h"
#include "client/src/protocol/outbox.h"
#include "client/src/protocol/session_state.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// The Attach stream of a member: how it is opened, kept and opened again, what the coordinator has
// said of itself when it was opened, and for how long the coordinator has been out of reach. Ends
// the epoch where that is too long. Pure: no I/O, no threads, no clock.
class AttachStream {
 public:
  AttachStream(const MemberOptions& options, const Membership& membership, SessionState* session,
               Lifecycle* lifecycle, Outbox* outbox);
  AttachStream(const AttachStream&) = delete;
  AttachStream& operator=(const AttachStream&) = delete;

  // Opens a stream with this claim. What an older one still says does not count.
  void Open(SteadyTime now, std::optional<v1::Claim> claim);
  // The same, and cancels the older one once the new one is opened.
  void Replace(SteadyTime now, v1::Claim claim);
  // The member needs no stream any more.
  void Close();

  // The first response of the latest stream. Returns false if it is not what this SDK understands:
  // then the member has failed.
  bool TakeFirstResponse(SteadyTime now, const v1::AttachResponse& response);
  // Whether the latest stream has had its first response.
  bool answered() const { return answered_; }
  // The stream of this attempt has ended. Returns false, and does nothing, if it is not the latest.
  bool TakeEnd(SteadyTime now, uint64_t attempt, const absl::Status& status);
  // A call could not reach the coordinator.
  void NoteError(absl::string_view error) { last_error_ = std::string(error); }

  // Whether a stream is to be opened in place of one that has ended.
  bool MustReopen(SteadyTime now) const { return reopen_at_ && now >= *reopen_at_; }
  // Ends the latest epoch if the coordinator has been away for coordinator_timeout.
  void GiveUpIfDue(SteadyTime now);
  // When one of these has something to do next; SteadyTime::max() if nothing is due.
  SteadyTime NextDeadline() const;

  // Whether a coordinator has ever answered. What it has said then:
  bool registered() const { return registered_; }
  bool node_collectives() const { return node_collectives_; }
  const v1::Limits& limits() const { return limits_; }
  // See MemberCore::LossKnownBy().
  SteadyTime LossKnownBy(SteadyTime since) const;

  // Since when there is no session, if there is none.
  SteadyTime detached_since() const { return detached_since_; }
  // The latest error of the network; empty if there was none since the first response.
  const std::string& last_error() const { return last_error_; }
  // "could not reach the coordinator at host:7370 for 10m (last error: ...)".
  std::string NotReachedSince(SteadyTime since, SteadyTime now) const;

 private:
  v1::AttachRequest NewRequest(std::optional<v1::Claim> claim) const;
  // The error of this status that ends the member.
  void Fail(const absl::Status& status);
  void LogEnd();
  void LogReattached(bool recovering);
  // When the latest epoch ends here for want of a coordinator; SteadyTime::max() if it does not.
  SteadyTime GivesUpAt() const;

  const MemberOptions& options_;
  const Membership& membership_;
  SessionState& session_;
  Lifecycle& lifecycle_;
  Outbox& outbox_;

  uint64_t attempt_ = 0;  // of the latest stream; 0: there was none
  bool answered_ = false;
  std::optional<SteadyTime> reopen_at_;  // where it has ended and another one is worth a try
  Backoff backoff_;
  bool registered_ = false;
  bool node_collectives_ = false;
  v1::Limits limits_;
  absl::Duration member_grace_;
  // Until when the coordinator may wait for members that were there before it.
  SteadyTime roster_complete_by_;
  SteadyTime detached_since_;
  std::string last_error_;
  bool trouble_logged_ = false;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_ATTACH_STREAM_H_
