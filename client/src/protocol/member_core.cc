#include "client/src/protocol/member_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/src/base/exit_code.h"
#include "client/src/protocol/messages.h"

namespace muster::internal {
namespace {

absl::Status CheckPlace(const PendingCall& call, const v1::JoinResponse& place) {
  if (place.rank() < static_cast<uint32_t>(place.roster_size())) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call.what, ": the coordinator gave rank ", place.rank(),
                                          " of ", place.roster_size()));
}

// What a Join has waited for. A coordinator's text begins with the job, which the caller names too,
// and says itself how long that was.
std::string WaitForMembers(const std::string& job, const absl::Status& timeout) {
  absl::string_view text = timeout.message();
  absl::ConsumePrefix(&text, absl::StrCat("job '", job, "': "));
  return absl::StrCat(absl::StartsWith(text, "waited ") ? "" : "waiting for members: ", text);
}

}  // namespace

MemberCore::MemberCore(MemberOptions options)
    : options_(std::move(options)),
      lifecycle_(options_.job_id, &membership_, &outbox_),
      stream_(options_, membership_, &session_, &lifecycle_, &outbox_),
      calls_(options_, membership_, &session_, &lifecycle_, &stream_, &outbox_),
      leases_(options_, lifecycle_, stream_, &calls_),
      releases_(session_, lifecycle_, &membership_, &calls_, &outbox_),
      fan_in_(options_, membership_, session_, lifecycle_, stream_, &calls_, &outbox_),
      collectives_(session_, stream_, &membership_, &lifecycle_, &calls_, &releases_, &fan_in_) {}

Effects MemberCore::Join(SteadyTime now, CallId id, const JobOptions& options,
                         const Deadline& deadline) {
  PendingCall call(absl::StrCat("joining job '", options.job, "'"), deadline, now);
  call.request = [this, options](SteadyTime) { return MakeJoin(options, options_.fingerprint); };
  call.on_end = [this](const PendingCall& ended, auto* reply) { FinishJoin(ended, reply); };
  return Begin(now, id, std::move(call));
}

void MemberCore::FinishJoin(const PendingCall& call, absl::StatusOr<Response>* reply) {
  if (absl::IsDeadlineExceeded(reply->status()) && call.sends > 0) {
    *reply = absl::DeadlineExceededError(
        absl::StrCat(call.what, ": ", WaitForMembers(options_.job_id, reply->status())));
  }
  // Two processes were given one place, and will be when they are started again.
  if (absl::IsAlreadyExists(reply->status())) {
    *reply = WithExitCode(reply->status(), kExitBadConfiguration);
  }
  if (reply->ok()) TakePlace(call, reply);
}

void MemberCore::TakePlace(const PendingCall& call, absl::StatusOr<Response>* reply) {
  const auto& place = std::get<v1::JoinResponse>(**reply);
  if (absl::Status valid = CheckPlace(call, place); !valid.ok()) {
    *reply = valid;
    return;
  }
  membership_.Entered(call.ended, place);
  releases_.Reset();
  fan_in_.Enter();
  outbox_.AddNews();
}

Effects MemberCore::Rejoin(SteadyTime now, CallId id, const EpochId& epoch,
                           const Deadline& deadline) {
  if (absl::Status status = lifecycle_.CheckNotLeaving(); !status.ok()) return Refuse(id, status);
  if (lifecycle_.rejoining() || !membership_.IsIn(epoch)) {
    return Refuse(id, absl::FailedPreconditionError(absl::StrCat(
                          lifecycle_.Describe(),
                          " is already rejoining in another thread; only one thread may")));
  }
  lifecycle_.BeginRejoining();
  calls_.LeaveMeetings();  // what is claimed now must not be outdone by an answer from there
  PendingCall call(absl::StrCat("rejoining job '", options_.job_id, "'"), deadline, now);
  call.leads_on = true;
  call.request = [this](SteadyTime at) { return MakeRejoin(NewClaim(at)); };
  call.on_end = [this](const PendingCall& ended, auto* reply) { FinishRejoin(ended, reply); };
  return Begin(now, id, std::move(call));
}

void MemberCore::FinishRejoin(const PendingCall& call, absl::StatusOr<Response>* reply) {
  lifecycle_.EndRejoining();
  if (!reply->ok()) return;
  *reply = Response(PlaceOf(std::get<v1::RejoinResponse>(**reply)));
  TakePlace(call, reply);
}

Effects MemberCore::Collective(SteadyTime now, CallId id, const GroupId& group, CollectiveCall call,
                               const Deadline& deadline) {
  absl::Status status = lifecycle_.CheckMember(group.epoch);
  if (status.ok()) status = collectives_.Begin(now, id, group, std::move(call), deadline);
  return status.ok() ? Settle(now) : Refuse(id, status);
}

Effects MemberCore::RequestStop(SteadyTime now, CallId id, const EpochId& epoch,
                                const Deadline& deadline) {
  if (absl::Status status = lifecycle_.CheckMember(epoch); !status.ok()) return Refuse(id, status);
  lifecycle_.AskStop();
  PendingCall call("asking all ranks to stop", deadline, now);
  call.epoch = epoch;
  call.request = [](SteadyTime) { return Request(v1::RequestStopRequest()); };
  return Begin(now, id, std::move(call));
}

Effects MemberCore::AcquireLease(SteadyTime now, CallId id, const EpochId& epoch,
                                 const LeaseId& lease, const Deadline& deadline) {
  if (absl::Status status = lifecycle_.CheckMember(epoch); !status.ok()) return Refuse(id, status);
  leases_.Acquire(now, id, epoch, lease, deadline);
  return Settle(now);
}

Effects MemberCore::CompleteLease(SteadyTime now, CallId id, const EpochId& epoch,
                                  const LeaseId& lease, uint64_t token,
                                  const absl::StatusOr<std::string>& outcome) {
  absl::Status status = lifecycle_.CheckNotLeaving();
  if (status.ok()) status = leases_.Complete(now, id, epoch, lease, token, outcome);
  return status.ok() ? Settle(now) : Refuse(id, status);
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
  PendingCall call(absl::StrCat("leaving job '", options_.job_id, "'"), deadline, now);
  call.epoch = epoch;
  call.last = true;
  call.request = [epoch](SteadyTime) { return MakeLeave(epoch); };
  call.on_end = [this](const PendingCall& ended, auto* reply) { FinishLeave(ended, reply); };
  return Begin(now, id, std::move(call));
}

void MemberCore::FinishLeave(const PendingCall& call, absl::StatusOr<Response>* reply) {
  // A leaving member needs nothing of a job that broke. Past its deadline, though, it may be the
  // one that the coordinator counts as lost.
  if (absl::IsAborted(reply->status())) {
    if (call.ended >= call.deadline.when()) {
      *reply = absl::DeadlineExceededError(absl::StrCat(
          call.what, ": timed out after ", absl::FormatDuration(call.deadline.timeout()), "; ",
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

Effects MemberCore::Begin(SteadyTime now, CallId id, PendingCall call) {
  calls_.Begin(id, std::move(call));
  return Settle(now);
}

Effects MemberCore::Refuse(CallId id, const absl::Status& why) {
  outbox_.Complete(id, why);
  return outbox_.Take();
}

Effects MemberCore::Settle(SteadyTime now) {
  stream_.GiveUpIfDue(now);
  bool has_ended = false;
  do {
    has_ended = calls_.Advance(now);
  } while (releases_.Tell(now) || has_ended);
  return outbox_.Take();
}

Effects MemberCore::OnMet(SteadyTime now, uint64_t attempt, const MeetingEnd& end) {
  fan_in_.TakeMeeting(now, attempt, end);
  return Settle(now);
}

Effects MemberCore::SendForNode(SteadyTime now, CallId id, uint64_t attempt,
                                const std::vector<TakenPart>& parts, absl::Duration patience) {
  const absl::Status begun = fan_in_.Send(now, id, attempt, parts, patience);
  return begun.ok() ? Settle(now) : Refuse(id, begun);
}

Effects MemberCore::OnReply(SteadyTime now, uint64_t attempt, const absl::Status& status,
                            Response response) {
  calls_.TakeReply(now, attempt, status, std::move(response));
  return Settle(now);
}

Effects MemberCore::Tick(SteadyTime now) {
  if (stream_.MustReopen(now)) Reattach(now);
  return Settle(now);
}

SteadyTime MemberCore::NextDeadline() const {
  return std::min({stream_.NextDeadline(), calls_.NextDeadline(), releases_.NextDeadline()});
}

bool MemberCore::StopRequested(const EpochId& epoch) const {
  return membership_.IsIn(epoch) && membership_.stop_agreed();
}

int MemberCore::NewcomersWaiting(const EpochId& epoch) const {
  return membership_.IsIn(epoch) ? membership_.newcomers() : 0;
}

}  // namespace muster::internal
