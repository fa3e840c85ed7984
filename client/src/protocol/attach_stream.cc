#include "client/src/protocol/attach_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/protocol/messages/messages.h"
#include "client/src/protocol/messages/named_members.h"
#include "client/src/protocol/messages/transport_error.h"
#include "muster/version.h"

namespace muster::internal {
namespace {

// The version of the wire protocol: docs/protocol.md.
constexpr uint32_t kProtocolVersion = 1;

// Returns whether a stream that ended with this status is worth reopening, since the status says
// nothing about this member. OK means that the coordinator ends. DEADLINE_EXCEEDED can only come
// from a proxy, because the stream has no deadline.
bool MayReopen(const absl::Status& status) {
  return status.ok() || IsTransportError(status) || absl::IsDeadlineExceeded(status);
}

// Checks the first response. The sender may not be musterd at all, or speak a later protocol
// without the fields that this SDK needs.
absl::Status CheckAnswer(const v1::AttachResponse& response) {
  const v1::Attached& attached = response.attached();
  if (response.has_attached() && attached.has_session() && attached.limits().max_name_bytes() > 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the versions do not match: this SDK is ", MUSTER_VERSION, " and speaks protocol ",
      kProtocolVersion, "; the coordinator is '", attached.daemon_version(),
      "', and its answer does not follow that protocol; install releases that speak the same "
      "protocol version"));
}

// Returns whether a refused registration will be refused again at the next try.
bool BlamesConfiguration(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
         absl::IsNotFound(status) || absl::IsPermissionDenied(status) ||
         absl::IsUnauthenticated(status);
}

// Returns the error that the program gets when an Attach fails for good.
absl::Status Refusal(const std::string& coordinator, const v1::JoinResponse* place,
                     const absl::Status& end) {
  const absl::Status status = WithNamedProcesses(end, place);
  if (place != nullptr) return Reworded(status, absl::StatusCode::kAborted, status.message());
  const std::string where = absl::StrCat("registering with ", coordinator, ": ");
  if (absl::IsUnimplemented(status)) {
    return WithExitCode(
        absl::FailedPreconditionError(absl::StrCat(
            where, "what listens there is not a musterd that speaks protocol ", kProtocolVersion,
            " of SDK ", MUSTER_VERSION, " (", status.message(), ")")),
        kExitBadConfiguration);
  }
  const absl::Status refusal = Reworded(status, absl::StrCat(where, status.message()));
  return BlamesConfiguration(status) ? WithExitCode(refusal, kExitBadConfiguration) : refusal;
}

}  // namespace

AttachStream::AttachStream(const MemberOptions& options, const MemberEpochs& epochs,
                           SessionState* session, MemberLifecycle* lifecycle, MemberOutbox* outbox)
    : options_(options),
      epochs_(epochs),
      session_(*session),
      lifecycle_(*lifecycle),
      outbox_(*outbox) {}

void AttachStream::Open(SteadyTime now, std::optional<v1::Claim> claim) {
  if (attempt_ == 0) detached_since_ = now;
  attempt_ = session_.BeginAttach();
  answered_ = false;
  reopen_at_.reset();
  outbox_.Add(OpenStream{attempt_, NewRequest(std::move(claim))});
}

void AttachStream::Replace(SteadyTime now, v1::Claim claim) {
  const uint64_t old = attempt_;
  Open(now, std::move(claim));
  outbox_.Add(CancelSend{old});
}

void AttachStream::Close() {
  reopen_at_.reset();
  outbox_.Add(CancelSend{attempt_});
}

v1::AttachRequest AttachStream::NewRequest(std::optional<v1::Claim> claim) const {
  v1::AttachRequest request;
  request.set_job_id(options_.job_id);
  SetIdentity(options_.identity, request.mutable_member());
  request.set_secret(options_.identity.secret);
  request.set_protocol_version(kProtocolVersion);
  request.set_sdk_version(MUSTER_VERSION);
  request.set_attempt(attempt_);
  request.set_cpus(options_.identity.cpus);
  request.set_commits_on_node(options_.commits_on_node());
  if (claim) *request.mutable_claim() = *std::move(claim);
  return request;
}

bool AttachStream::TakeFirstResponse(SteadyTime now, const v1::AttachResponse& response) {
  answered_ = true;
  if (const absl::Status fits = CheckAnswer(response); !fits.ok()) {
    Fail(fits);
    return false;
  }
  const v1::Attached& attached = response.attached();
  const v1::SessionId& session = attached.session();
  session_.Attached(attempt_, {session.daemon_instance(), session.counter(), session.key()});
  limits_ = attached.limits();
  node_collectives_ = attached.node_collectives();
  node_commits_ = attached.node_commits() && options_.commits_on_node();
  member_grace_ = DurationOf(attached.member_grace());
  roster_complete_by_ =
      attached.recovering() ? After(now, DurationOf(attached.recovery_grace())) : now;
  LogReattached(attached.recovering());
  registered_ = true;
  last_error_.clear();
  outbox_.NoteStateChange();  // LossKnownBy() may have changed
  return true;
}

bool AttachStream::TakeEnd(SteadyTime now, uint64_t attempt, const absl::Status& status) {
  if (!session_.Detached(attempt)) return false;
  if (answered_) detached_since_ = now;
  last_error_ = status.ok() ? "the coordinator ended the session" : std::string(status.message());
  if (lifecycle_.is_over()) return true;
  if (MayReopen(status)) {
    LogEnd();
    if (answered_) backoff_.Reset();
    reopen_at_ = After(now, backoff_.Next(options_.random));
  } else {
    Fail(status);
  }
  return true;
}

void AttachStream::Fail(const absl::Status& status) {
  lifecycle_.Fail(Refusal(options_.coordinator, epochs_.place(), status));
}

void AttachStream::LogEnd() {
  if (answered_) trouble_logged_ = false;
  // A failed job's coordinator may end at any time, which is worth no warning.
  if (!epochs_.Health().ok() && !lifecycle_.rejoining()) return;
  if (std::exchange(trouble_logged_, true)) return;
  outbox_.Warn(
      absl::StrCat(lifecycle_.Describe(), answered_ ? ": lost the connection to" : ": cannot reach",
                   " the coordinator at ", options_.coordinator, ", trying again: ", last_error_));
}

void AttachStream::LogReattached(bool recovering) {
  if (!std::exchange(trouble_logged_, false)) return;
  outbox_.Warn(
      absl::StrCat(lifecycle_.Describe(), ": reached the coordinator at ", options_.coordinator,
                   registered_ ? " again" : "",
                   recovering ? "; it was restarted and waits for the other members" : ""));
}

SteadyTime AttachStream::NextDeadline(bool must_wait) const {
  if (must_wait) return GivesUpAt();
  return std::min(GivesUpAt(), reopen_at_.value_or(SteadyTime::max()));
}

SteadyTime AttachStream::GivesUpAt() const {
  const bool in_epoch = epochs_.place() != nullptr && epochs_.Health().ok();
  if (!in_epoch || session_.session() || lifecycle_.is_over()) {
    return SteadyTime::max();
  }
  return After(detached_since_, options_.coordinator_timeout);
}

// Without a coordinator, no process can learn any more that a peer has died. If the epoch went on,
// a collective could wait for a dead peer for ever. To the other members, this process looks as if
// it had called Rejoin.
void AttachStream::GiveUpIfDue(SteadyTime now) {
  if (now < GivesUpAt()) return;
  const std::string text =
      absl::StrCat(lifecycle_.Describe(), " ", NotReachedSince(detached_since_, now),
                   ", and takes no further part in epoch ", epochs_.place()->epoch().number(),
                   "; check that musterd runs there and that this node's network reaches it "
                   "(MUSTER_COORDINATOR_TIMEOUT says how long to try)");
  lifecycle_.BreakEpoch(
      EpochOf(epochs_.place()->epoch()),
      {WithExitCode(absl::UnavailableError(text), kExitCoordinatorLost), {}, now, {}});
}

SteadyTime AttachStream::LossKnownBy(SteadyTime since) const {
  // Covers the time from a member's death until this process hears of the loss, also on a busy
  // machine.
  constexpr absl::Duration kMargin = absl::Seconds(5);
  if (!session_.session()) return SteadyTime::max();
  return After(std::max(since, roster_complete_by_), member_grace_ + kMargin);
}

std::string AttachStream::NotReachedSince(SteadyTime since, SteadyTime now) const {
  return absl::StrCat("could not reach the coordinator at ", options_.coordinator, " for ",
                      absl::FormatDuration(Rounded(Between(since, now))),
                      " (last error: ", last_error_.empty() ? "no answer" : last_error_, ")");
}

}  // namespace muster::internal
