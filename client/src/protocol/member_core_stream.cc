// The Attach stream of a member: how it is opened, kept and opened again.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/src/base/exit_code.h"
#include "client/src/protocol/member_core.h"
#include "client/src/protocol/messages.h"
#include "client/src/protocol/transport_error.h"
#include "muster/version.h"

namespace muster::internal {
namespace {

// docs/protocol.md: the version of the wire protocol.
constexpr uint32_t kProtocolVersion = 1;

// Whether the end of a stream says nothing about this member. OK: the coordinator ends. A stream
// has no deadline of its own.
bool MayReopen(const absl::Status& status) {
  return status.ok() || IsTransportError(status) || absl::IsDeadlineExceeded(status);
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

// Whether a refusal to register will be the same at the next try.
bool BlamesConfiguration(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
         absl::IsNotFound(status) || absl::IsPermissionDenied(status) ||
         absl::IsUnauthenticated(status);
}

// The final error of an attach, in the words of a caller.
absl::Status Refusal(const std::string& coordinator, bool joined, const absl::Status& status) {
  if (joined) return absl::AbortedError(status.message());
  const std::string where = absl::StrCat("registering with ", coordinator, ": ");
  if (absl::IsUnimplemented(status)) {
    return WithExitCode(
        absl::FailedPreconditionError(absl::StrCat(
            where, "what listens there is not a musterd that speaks protocol ", kProtocolVersion,
            " of SDK ", MUSTER_VERSION, " (", status.message(), ")")),
        kExitBadConfiguration);
  }
  const absl::Status refusal(status.code(), absl::StrCat(where, status.message()));
  return BlamesConfiguration(status) ? WithExitCode(refusal, kExitBadConfiguration) : refusal;
}

}  // namespace

void MemberCore::OpenAttach(SteadyTime now, bool with_roster) {
  stream_ = Stream();
  stream_.attempt = session_.BeginAttach();
  v1::AttachRequest request = NewAttach(now, stream_.attempt);
  if (with_roster) *request.mutable_claim()->mutable_roster() = membership_.place()->roster();
  outbox_.Add(OpenStream{stream_.attempt, std::move(request)});
  NoteClaimed();
}

// A restarted coordinator asks who the members of the claimed epoch are. The new stream goes first:
// when this one ends without it, the next member is asked.
void MemberCore::AttachWithRoster(SteadyTime now, const v1::NeedRoster& need) {
  if (lifecycle_.is_over() || stream_.answered || !membership_.IsIn(EpochOf(need.epoch()))) return;
  const uint64_t old = stream_.attempt;
  OpenAttach(now, /*with_roster=*/true);
  outbox_.Add(CancelSend{old});
}

v1::AttachRequest MemberCore::NewAttach(SteadyTime now, uint64_t attempt) const {
  v1::AttachRequest request;
  request.set_job_id(options_.job_id);
  SetIdentity(options_.identity, request.mutable_member());
  request.set_secret(options_.identity.secret);
  request.set_protocol_version(kProtocolVersion);
  request.set_sdk_version(MUSTER_VERSION);
  request.set_attempt(attempt);
  if (membership_.place() == nullptr) return request;
  *request.mutable_claim() = NewClaim(now);
  return request;
}

v1::Claim MemberCore::NewClaim(SteadyTime now) const {
  v1::Claim claim;
  membership_.AddTo(now, &claim);
  leases_.AddTo(&claim);
  lifecycle_.AddTo(&claim);
  return claim;
}

Effects MemberCore::OnStreamResponse(SteadyTime now, uint64_t attempt,
                                     const v1::AttachResponse& response) {
  if (!session_.IsLatest(attempt)) return {};
  if (response.has_need_roster()) {
    AttachWithRoster(now, response.need_roster());
  } else if (std::exchange(stream_.answered, true)) {
    TakeEvent(now, response);
  } else {
    TakeFirstResponse(now, response);
  }
  return Settle(now);
}

void MemberCore::TakeFirstResponse(SteadyTime now, const v1::AttachResponse& response) {
  if (const absl::Status fits = CheckAnswer(response); !fits.ok()) {
    return lifecycle_.Fail(Refusal(options_.coordinator, membership_.place() != nullptr, fits));
  }
  const v1::Attached& attached = response.attached();
  const v1::SessionId& session = attached.session();
  session_.Attached(stream_.attempt, {session.daemon_instance(), session.counter(), session.key()});
  limits_ = attached.limits();
  node_collectives_ = attached.node_collectives();
  member_grace_ = DurationOf(attached.member_grace());
  roster_complete_by_ =
      attached.recovering() ? After(now, DurationOf(attached.recovery_grace())) : now;
  const auto& standing = attached.standing_tokens();
  leases_.KeepOnly(std::set<uint64_t>(standing.begin(), standing.end()));
  LogReattached(attached.recovering());
  registered_ = true;
  last_error_.clear();
  outbox_.AddNews();  // of LossKnownBy()
}

void MemberCore::TakeEvent(SteadyTime now, const v1::AttachResponse& response) {
  if (lifecycle_.has_left()) return;
  switch (response.event_case()) {
    case v1::AttachResponse::kEpochBroken:
      return TakeBreak(now, response.epoch_broken());
    case v1::AttachResponse::kNeedContribution:
      return Contribute(now, response.need_contribution());
    case v1::AttachResponse::kGroupFinished:
      return TakeFinish(response.group_finished());
    case v1::AttachResponse::kStillWaiting:
      return WarnOfWaiting(response.still_waiting().text());
    case v1::AttachResponse::kGroupsClosed:
      return TakeClosings(now, response.groups_closed());
    case v1::AttachResponse::kNewcomersWaiting:
      return TakeNewcomers(response.newcomers_waiting());
    default:  // a later protocol's
      return;
  }
}

void MemberCore::TakeBreak(SteadyTime now, const v1::EpochBroken& broken) {
  EpochEnd end{absl::AbortedError(broken.reason()), {}, now, broken.may_rejoin()};
  end.failures.assign(broken.failures().begin(), broken.failures().end());
  lifecycle_.BreakEpoch(EpochOf(broken.epoch()), std::move(end));
}

void MemberCore::TakeFinish(const v1::GroupFinished& finished) {
  if (!membership_.IsIn(EpochOf(finished.epoch()))) return;
  const v1::Group& group = finished.group();
  const std::vector<int> ranks(group.ranks().begin(), group.ranks().end());
  membership_.GroupOf(group.name(), ranks)
      ->sequence.Finish(absl::FailedPreconditionError(finished.reason()));
}

void MemberCore::TakeNewcomers(const v1::NewcomersWaiting& newcomers) {
  if (!membership_.IsIn(EpochOf(newcomers.epoch()))) return;
  membership_.set_newcomers(
      static_cast<int>(std::min(newcomers.waiting(), newcomers.free_places())));
  outbox_.AddNews();
}

void MemberCore::Contribute(SteadyTime now, const v1::NeedContribution& need) {
  const EpochId epoch = EpochOf(need.epoch());
  const std::vector<int> ranks(need.group().ranks().begin(), need.group().ranks().end());
  const std::shared_ptr<MemberGroup> group =
      membership_.FindGroup({epoch, need.group().name(), ranks});
  if (group == nullptr || !group->sequence.retained() ||
      group->sequence.number() != need.sequence() + 1) {
    return;
  }
  PendingCall call = NewCall(now, absl::StrCat("repeating op ", need.sequence()),
                             Deadline(now, options_.coordinator_timeout));
  call.epoch = epoch;
  call.in_background = true;
  call.group = group;
  call.only_in = session_.session();
  call.request = [need, ranks, content = *group->sequence.retained()](SteadyTime) {
    return MakeCollective(EpochOf(need.epoch()), need.group().name(), ranks, need.sequence(),
                          /*refusals=*/0, content);
  };
  calls_.emplace(next_background_++, std::move(call));
}

Effects MemberCore::OnStreamEnd(SteadyTime now, uint64_t attempt, const absl::Status& status) {
  if (!session_.Detached(attempt)) return {};
  if (stream_.answered) detached_since_ = now;
  last_error_ = status.ok() ? "the coordinator ended the session" : std::string(status.message());
  if (lifecycle_.is_over()) return Settle(now);
  if (MayReopen(status)) {
    LogStreamEnd();
    if (stream_.answered) stream_backoff_.Reset();
    stream_.reopen_at = After(now, stream_backoff_.Next(options_.random));
  } else {
    lifecycle_.Fail(Refusal(options_.coordinator, membership_.place() != nullptr, status));
  }
  return Settle(now);
}

void MemberCore::LogStreamEnd() {
  if (stream_.answered) trouble_logged_ = false;
  // The coordinator of a job that has failed may end at any time.
  if (!membership_.Health().ok() && !lifecycle_.rejoining()) return;
  if (std::exchange(trouble_logged_, true)) return;
  outbox_.Warn(absl::StrCat(
      lifecycle_.Describe(), stream_.answered ? ": lost the connection to" : ": cannot reach",
      " the coordinator at ", options_.coordinator, ", trying again: ", last_error_));
}

void MemberCore::LogReattached(bool recovering) {
  if (!std::exchange(trouble_logged_, false)) return;
  outbox_.Warn(
      absl::StrCat(lifecycle_.Describe(), ": reached the coordinator at ", options_.coordinator,
                   registered_ ? " again" : "",
                   recovering ? "; it was restarted and waits for the other members" : ""));
}

// The text begins with the job, as every text of the coordinator does; so do this process's own.
void MemberCore::WarnOfWaiting(absl::string_view text) {
  absl::ConsumePrefix(&text, absl::StrCat("job '", options_.job_id, "': "));
  outbox_.Warn(absl::StrCat(lifecycle_.Describe(), ": ", text));
}

SteadyTime MemberCore::GivesUpAt() const {
  const bool in_epoch = membership_.place() != nullptr && membership_.Health().ok();
  if (!in_epoch || session_.session() || lifecycle_.is_over()) {
    return SteadyTime::max();
  }
  return After(detached_since_, options_.coordinator_timeout);
}

SteadyTime MemberCore::LossKnownBy(SteadyTime since) const {
  // For what lies between a member's death and this process's hearing of its loss, also on a
  // machine that has much else to do.
  constexpr absl::Duration kMargin = absl::Seconds(5);
  if (!session_.session()) return SteadyTime::max();
  return After(std::max(since, roster_complete_by_), member_grace_ + kMargin);
}

// Nobody can tell this process any more whether its peers are alive: what waits for them must not
// wait for ever. To the others it is as if this process had called Rejoin.
void MemberCore::GiveUp(SteadyTime now) {
  const std::string text =
      absl::StrCat(lifecycle_.Describe(), " ", NotReachedSince(detached_since_, now),
                   ", and takes no further part in epoch ", membership_.place()->epoch().number(),
                   "; check that musterd runs there and that this node's network reaches it "
                   "(MUSTER_COORDINATOR_TIMEOUT says how long to try)");
  lifecycle_.BreakEpoch(
      EpochOf(membership_.place()->epoch()),
      {WithExitCode(absl::UnavailableError(text), kExitCoordinatorLost), {}, now, {}});
}

}  // namespace muster::internal
