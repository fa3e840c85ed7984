#include "client/src/protocol/member_core.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/src/base/error_note.h"
#include "client/src/protocol/messages/messages.h"
#include "client/src/protocol/messages/named_members.h"

namespace muster::internal {
namespace {

EpochEnd EndOf(SteadyTime now, const v1::EpochBroken& broken, const v1::JoinResponse* place) {
  // The answers of calls in flight have the same text. Whichever comes first, the facts are those
  // of the text.
  const absl::Status why = WithNamedMembers(absl::AbortedError(broken.reason()), place);
  EpochEnd end{why, {}, now, broken.may_rejoin()};
  end.failures.assign(broken.failures().begin(), broken.failures().end());
  return end;
}

// Strips the job's name from the coordinator's text, because this process names it already.
absl::string_view WithoutJob(const std::string& job_id, absl::string_view text) {
  absl::ConsumePrefix(&text, absl::StrCat("job '", job_id, "': "));
  return text;
}

}  // namespace

MemberCore::MemberCore(MemberOptions options)
    : options_(std::move(options)),
      lifecycle_(options_.job_id, &epochs_, &outbox_),
      stream_(options_, epochs_, &session_, &lifecycle_, &outbox_),
      calls_(options_, epochs_, &session_, &lifecycle_, &stream_, &outbox_),
      leases_(options_, lifecycle_, stream_, &calls_),
      releases_(session_, lifecycle_, &epochs_, &calls_, &outbox_),
      commits_(session_, lifecycle_, epochs_, &calls_),
      fan_in_(options_, epochs_, session_, lifecycle_, stream_, &calls_, &commits_, &outbox_),
      collectives_(session_, stream_, &epochs_, &lifecycle_, &calls_, &releases_, &fan_in_),
      joins_(options_, &epochs_, &lifecycle_, &calls_, &releases_, &commits_, &fan_in_, &outbox_) {}

Effects MemberCore::Start(SteadyTime now) {
  stream_.Open(now, std::nullopt);
  return Settle(now);
}

Effects MemberCore::Join(SteadyTime now, CallId id, const JobOptions& options,
                         const Deadline& deadline) {
  joins_.Join(now, id, options, deadline);
  return Settle(now);
}

Effects MemberCore::Rejoin(SteadyTime now, CallId id, const EpochId& epoch,
                           const Deadline& deadline) {
  const auto claim = [this](SteadyTime at) { return NewClaim(at); };
  absl::Status status = lifecycle_.CheckNotLeaving();
  if (status.ok()) status = joins_.Rejoin(now, id, epoch, deadline, claim);
  return SettleOrRefuse(now, id, status);
}

Effects MemberCore::Collective(SteadyTime now, CallId id, const GroupId& group, CollectiveCall call,
                               const Deadline& deadline) {
  absl::Status status = lifecycle_.CheckMember(group.epoch);
  if (status.ok()) status = collectives_.Begin(now, id, group, std::move(call), deadline);
  return SettleOrRefuse(now, id, status);
}

Effects MemberCore::RequestStop(SteadyTime now, CallId id, const EpochId& epoch,
                                const Deadline& deadline) {
  const absl::Status status = lifecycle_.CheckMember(epoch);
  if (!status.ok()) return SettleOrRefuse(now, id, status);
  lifecycle_.NoteStopRequest();
  PendingCall call("asking all ranks to stop", deadline, now);
  call.epoch = epoch;
  call.request = [](SteadyTime) { return Request(v1::RequestStopRequest()); };
  calls_.Begin(id, std::move(call));
  return Settle(now);
}

Effects MemberCore::AcquireLease(SteadyTime now, CallId id, const EpochId& epoch,
                                 const LeaseId& lease, const Deadline& deadline) {
  const absl::Status status = lifecycle_.CheckMember(epoch);
  if (status.ok()) leases_.Acquire(now, id, epoch, lease, deadline);
  return SettleOrRefuse(now, id, status);
}

Effects MemberCore::CompleteLease(SteadyTime now, CallId id, const EpochId& epoch,
                                  const LeaseId& lease, uint64_t token,
                                  const absl::StatusOr<std::string>& outcome) {
  absl::Status status = lifecycle_.CheckNotLeaving();
  if (status.ok()) status = leases_.Complete(now, id, epoch, lease, token, outcome);
  return SettleOrRefuse(now, id, status);
}

Effects MemberCore::ReleaseLease(SteadyTime now, const EpochId& epoch, const LeaseId& lease,
                                 uint64_t token) {
  leases_.Release(now, epoch, lease, token);
  return Settle(now);
}

Effects MemberCore::Leave(SteadyTime now, CallId id, const EpochId& epoch,
                          const Deadline& deadline) {
  if (lifecycle_.has_left()) {
    outbox_.Complete(id, Response(v1::LeaveResponse()));
    return Settle(now);
  }
  lifecycle_.BeginLeaving();
  commits_.ReportSoon(now);
  commits_.Report(now);
  PendingCall call(absl::StrCat("leaving job '", options_.job_id, "'"), deadline, now);
  call.epoch = epoch;
  call.last = true;
  call.request = [epoch](SteadyTime) { return MakeLeave(epoch); };
  call.on_end = [this](const PendingCall& ended, auto* reply) { FinishLeave(ended, reply); };
  calls_.Begin(id, std::move(call));
  return Settle(now);
}

void MemberCore::FinishLeave(const PendingCall& call, absl::StatusOr<Response>* reply) {
  // A leaving member needs nothing of a broken job, so ABORTED is success. After its deadline, it
  // may itself be the member that the coordinator counts as lost.
  if (absl::IsAborted(reply->status())) {
    if (call.ended >= call.deadline.when()) {
      *reply = Reworded(reply->status(), absl::StatusCode::kDeadlineExceeded,
                        absl::StrCat(call.what, ": timed out after ",
                                     absl::FormatDuration(call.deadline.timeout()), "; ",
                                     reply->status().message()));
    } else {
      *reply = Response(v1::LeaveResponse());
    }
  }
  if (!reply->ok()) return;
  lifecycle_.EndLeaving();
  stream_.Close();
}

Effects MemberCore::Drop(SteadyTime now, const GroupId& group) {
  releases_.Drop(now, group);
  return Settle(now);
}

Effects MemberCore::Cancel(SteadyTime now, CallId id) {
  calls_.Cancel(id);
  return Settle(now);
}

Effects MemberCore::Stop(SteadyTime now) {
  lifecycle_.Stop();
  stream_.Close();
  return Settle(now);
}

Effects MemberCore::OnFanInEnd(SteadyTime now, uint64_t attempt, const FanInEnd& end) {
  fan_in_.TakeFanInEnd(now, attempt, end);
  ReattachIfDue(now);
  return Settle(now);
}

Effects MemberCore::SendForNode(SteadyTime now, CallId id, uint64_t attempt,
                                const std::vector<TakenPart>& parts, absl::Duration patience) {
  return SettleOrRefuse(now, id, fan_in_.Send(now, id, attempt, parts, patience));
}

Effects MemberCore::OnReply(SteadyTime now, uint64_t attempt, const absl::Status& status,
                            Response response) {
  calls_.TakeReply(now, attempt, status, std::move(response));
  return Settle(now);
}

Effects MemberCore::OnStreamResponse(SteadyTime now, uint64_t attempt,
                                     const v1::AttachResponse& response) {
  if (!session_.IsLatest(attempt)) return {};
  if (response.has_need_roster()) {
    AttachWithRoster(now, response.need_roster());
  } else if (stream_.answered()) {
    TakeEvent(now, response);
  } else if (stream_.TakeFirstResponse(now, response)) {
    leases_.DropUnlisted(response.attached());
  }
  return Settle(now);
}

Effects MemberCore::OnStreamEnd(SteadyTime now, uint64_t attempt, const absl::Status& status) {
  if (!stream_.TakeEnd(now, attempt, status)) return {};
  return Settle(now);
}

Effects MemberCore::Tick(SteadyTime now) {
  ReattachIfDue(now);
  return Settle(now);
}

SteadyTime MemberCore::NextDeadline() const {
  return std::min({stream_.NextDeadline(/*must_wait=*/calls_.LeavesRounds()), calls_.NextDeadline(),
                   releases_.NextDeadline(), commits_.NextDeadline()});
}

bool MemberCore::StopRequested(const EpochId& epoch) const {
  return epochs_.IsIn(epoch) && epochs_.stop_agreed();
}

int MemberCore::NewcomersWaiting(const EpochId& epoch) const {
  return epochs_.IsIn(epoch) ? epochs_.newcomers() : 0;
}

// A refused call changes nothing, so the next step does what is due.
Effects MemberCore::SettleOrRefuse(SteadyTime now, CallId id, const absl::Status& begun) {
  if (begun.ok()) return Settle(now);
  outbox_.Complete(id, begun);
  return outbox_.Take();
}

Effects MemberCore::Settle(SteadyTime now) {
  stream_.GiveUpIfDue(now);
  bool has_ended = false;
  do {
    has_ended = calls_.Advance(now);
    has_ended |= commits_.Report(now);
  } while (releases_.Report(now) || has_ended);
  return outbox_.Take();
}

void MemberCore::ReattachIfDue(SteadyTime now) {
  if (stream_.MustReopen(now) && !calls_.LeavesRounds()) Reattach(now);
}

void MemberCore::Reattach(SteadyTime now) {
  std::optional<v1::Claim> claim;
  if (epochs_.place() != nullptr) claim = NewClaim(now);
  stream_.Open(now, std::move(claim));
  releases_.NoteClaimed();
  commits_.NoteClaimed();
}

// Answers a restarted coordinator that asks for the roster of the claimed epoch. The new stream
// opens first: if the old one ended without it, the coordinator would ask the next member.
void MemberCore::AttachWithRoster(SteadyTime now, const v1::NeedRoster& need) {
  const bool is_asked = epochs_.IsIn(EpochOf(need.epoch())) && !lifecycle_.is_over();
  if (!is_asked || stream_.answered()) return;
  v1::Claim claim = NewClaim(now);
  *claim.mutable_roster() = epochs_.place()->roster();
  stream_.Replace(now, std::move(claim));
  releases_.NoteClaimed();
  commits_.NoteClaimed();
}

v1::Claim MemberCore::NewClaim(SteadyTime now) const {
  v1::Claim claim;
  epochs_.AddTo(now, &claim);
  leases_.AddTo(&claim);
  lifecycle_.AddTo(&claim);
  return claim;
}

void MemberCore::TakeEvent(SteadyTime now, const v1::AttachResponse& response) {
  if (lifecycle_.has_left()) return;
  switch (response.event_case()) {
    case v1::AttachResponse::kEpochBroken:
      return lifecycle_.BreakEpoch(
          EpochOf(response.epoch_broken().epoch()),
          EndOf(now, response.epoch_broken(),
                epochs_.PlaceIn(EpochOf(response.epoch_broken().epoch()))));
    case v1::AttachResponse::kNeedContribution:
      return collectives_.Contribute(now, response.need_contribution());
    case v1::AttachResponse::kGroupFinished:
      return collectives_.TakeFinish(response.group_finished());
    case v1::AttachResponse::kStillWaiting:
      return outbox_.Warn(
          absl::StrCat(lifecycle_.Describe(), ": ",
                       WithoutJob(options_.job_id, response.still_waiting().text())));
    case v1::AttachResponse::kGroupsClosed:
      return releases_.TakeClosings(now, response.groups_closed());
    case v1::AttachResponse::kNewcomersWaiting:
      return TakeNewcomers(response.newcomers_waiting());
    default:  // a later protocol's event
      return;
  }
}

void MemberCore::TakeNewcomers(const v1::NewcomersWaiting& newcomers) {
  if (!epochs_.IsIn(EpochOf(newcomers.epoch()))) return;
  epochs_.set_newcomers(static_cast<int>(std::min(newcomers.waiting(), newcomers.free_places())));
  outbox_.NoteStateChange();
}

}  // namespace muster::internal
