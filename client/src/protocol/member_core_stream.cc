// The Attach stream of a member: how it is opened, kept and opened again.
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/member_core.h"
#include "client/src/protocol/messages.h"
#include "muster/version.h"

namespace muster::internal {
namespace {

// docs/protocol.md: the version of the wire protocol.
constexpr uint32_t kProtocolVersion = 1;

// Whether the end of a stream says something about the way to the coordinator and not about this
// member.
bool IsTransportError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:  // a coordinator that ends
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
      return true;
    default:
      return false;
  }
}

// What answers may be no musterd, or one of a later protocol that leaves out what this one needs.
absl::Status CheckAnswer(const v1::AttachResponse& response) {
  const v1::Attached& attached = response.attached();
  if (response.has_attached() && attached.has_session() && attached.limits().max_name_bytes() > 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the versions do not fit: this SDK is ", MUSTER_VERSION, " and speaks protocol ",
                   kProtocolVersion, "; the coordinator is '", attached.daemon_version(),
                   "' and does not answer as that protocol says"));
}

// The final error of an attach, in the words of a caller.
absl::Status Refusal(const std::string& coordinator, bool joined, const absl::Status& status) {
  if (joined) return absl::AbortedError(status.message());
  const std::string where = absl::StrCat("registering with ", coordinator, ": ");
  if (absl::IsUnimplemented(status)) {
    return absl::FailedPreconditionError(
        absl::StrCat(where, "what listens there is no musterd that speaks protocol ",
                     kProtocolVersion, " of SDK ", MUSTER_VERSION, " (", status.message(), ")"));
  }
  return absl::Status(status.code(), absl::StrCat(where, status.message()));
}

}  // namespace

void MemberCore::OpenAttach() {
  stream_ = Stream();
  stream_.attempt = session_.BeginAttach();
  effects_.outputs.push_back(OpenStream{stream_.attempt, NewAttach(stream_.attempt)});
}

v1::AttachRequest MemberCore::NewAttach(uint64_t attempt) const {
  v1::AttachRequest request;
  request.set_job_id(options_.job_id);
  SetIdentity(options_.identity, request.mutable_member());
  request.set_protocol_version(kProtocolVersion);
  request.set_sdk_version(MUSTER_VERSION);
  request.set_attempt(attempt);
  if (membership_.place() != nullptr) *request.mutable_epoch() = membership_.place()->epoch();
  return request;
}

Effects MemberCore::OnStreamResponse(SteadyTime now, uint64_t attempt,
                                     const v1::AttachResponse& response) {
  if (!session_.IsLatest(attempt)) return {};
  if (std::exchange(stream_.answered, true)) {
    TakeEvent(response);
  } else {
    TakeFirstResponse(response);
  }
  return Settle(now);
}

void MemberCore::TakeFirstResponse(const v1::AttachResponse& response) {
  if (const absl::Status fits = CheckAnswer(response); !fits.ok()) {
    return Fail(Refusal(options_.coordinator, membership_.place() != nullptr, fits));
  }
  const v1::SessionId& session = response.attached().session();
  session_.Attached(stream_.attempt, {session.daemon_instance(), session.counter()});
  limits_ = response.attached().limits();
  registered_ = true;
  last_error_.clear();
}

void MemberCore::TakeEvent(const v1::AttachResponse& response) {
  if (!response.has_epoch_broken() || left_) return;
  const v1::EpochBroken& broken = response.epoch_broken();
  BreakEpoch(EpochOf(broken.epoch()), absl::AbortedError(broken.reason()));
}

Effects MemberCore::OnStreamEnd(SteadyTime now, uint64_t attempt, const absl::Status& status) {
  if (!session_.Detached(attempt)) return {};
  if (stream_.answered) detached_since_ = now;
  last_error_ = status.ok() ? "the coordinator ended the session" : std::string(status.message());
  if (left_ || stopping_ || !fate_.ok()) return Settle(now);
  if (IsTransportError(status)) {
    LogStreamEnd();
    if (stream_.answered) stream_backoff_.Reset();
    stream_.reopen_at = After(now, stream_backoff_.Next());
  } else {
    Fail(Refusal(options_.coordinator, membership_.place() != nullptr, status));
  }
  return Settle(now);
}

void MemberCore::LogStreamEnd() {
  if (stream_.answered) trouble_logged_ = false;
  if (std::exchange(trouble_logged_, true)) return;
  effects_.outputs.push_back(WriteLog{
      LogLevel::kWarning,
      absl::StrCat(Describe(), stream_.answered ? ": lost the connection to" : ": cannot reach",
                   " the coordinator at ", options_.coordinator, ", trying again: ", last_error_)});
}

void MemberCore::Fail(const absl::Status& why) {
  fate_.Update(why);
  effects_.news = true;
}

void MemberCore::BreakEpoch(const EpochId& epoch, const absl::Status& why) {
  membership_.EpochBroken(epoch, why);
  effects_.news = true;
}

}  // namespace muster::internal
