// Calls of a member: how they are sent, repeated and ended.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/exit_code.h"
#include "client/src/protocol/member_core.h"
#include "client/src/protocol/messages.h"
#include "client/src/protocol/transport_error.h"

namespace muster::internal {

Effects MemberCore::Settle(SteadyTime now) {
  stream_.GiveUpIfDue(now);
  uint64_t ends = 0;
  do {
    ends = ends_;
    for (auto next = calls_.begin(); next != calls_.end();) {
      const auto call = next++;
      Advance(now, call->first, &call->second);
    }
    // The end of one call may set others free.
  } while (TellOfGroups(now) || ends_ != ends);
  return outbox_.Take();
}

void MemberCore::Advance(SteadyTime now, CallId id, PendingCall* call) {
  if (absl::Status status = Interruption(*call); !status.ok()) return End(now, id, status);
  if (MustWaitForBackground(now, *call)) return;
  if (calls_.count(call->after) > 0) {
    if (now >= call->deadline.when()) End(now, id, Unreachable(now, *call));
    return;
  }
  if (MustWaitForGroup(*call)) return WaitForGroup(now, id, call);
  const bool sent = call->in_flight.has_value();
  if (sent && !call->last && !session_.IsCurrent(*call->in_flight)) Withdraw(call);
  if (call->paused_until && now >= *call->paused_until) call->paused_until.reset();
  if (call->in_flight || (!call->paused_until && !session_.session())) {
    if (now < DeadlineOf(*call)) return;
    return End(now, id, stream_.registered() ? Unreachable(now, *call) : NotRegistered(*call));
  }
  if (!call->paused_until) Send(now, id, call);
}

absl::Status MemberCore::Interruption(const PendingCall& call) const {
  if (lifecycle_.was_stopped())
    return absl::CancelledError(absl::StrCat(call.what, ": the Job was destroyed"));
  if (!call.last || !call.in_flight) {
    const bool bound = call.epoch && !call.outlives_epoch;
    const absl::Status health = bound ? lifecycle_.HealthOf(*call.epoch) : lifecycle_.fate();
    if (!health.ok()) return health;
  }
  if (call.leads_on && membership_.IsLast()) {
    return absl::FailedPreconditionError(absl::StrCat(
        call.what, ": no epoch follows this one, since the job is not elastic (musterd ",
        "--min-world-size) or has failed for good: ", membership_.Health().message()));
  }
  if (call.only_in && !(call.only_in == session_.session())) {
    return absl::CancelledError("the session has ended");
  }
  if (call.carries && !IsMeeting(*call.carries)) {
    return absl::CancelledError("the arrival for which it was sent has ended");
  }
  if (!call.cancelled) return absl::OkStatus();
  return absl::CancelledError(
      absl::StrCat(call.what, ": ", lifecycle_.Describe(), " was cancelled"));
}

// Leases that were given up must not be held until this process is taken for lost, nor may others
// count on an arrival that was given up.
bool MemberCore::MustWaitForBackground(SteadyTime now, const PendingCall& call) const {
  if (!call.last || call.in_flight || now >= call.deadline.when()) return false;
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const auto& entry) { return entry.second.before_leave; });
}

void MemberCore::Send(SteadyTime now, CallId id, PendingCall* call) {
  call->in_flight = session_.NewStamp();
  call->answered = false;
  ++call->sends;
  if (call->is_collective() && call->sends == 1 && !call->group->sequence.is_fixed()) {
    call->group->arrivals.SentFirst(call->in_flight->session);
  }
  if (call->sends > 1 || !Meet(now, id, call)) SendInFlight(now, call);
}

void MemberCore::SendInFlight(SteadyTime now, PendingCall* call) {
  const absl::Duration wait = std::max(absl::ZeroDuration(), Between(now, call->deadline.when()));
  call->sent_at = now;
  Request request = call->request(now);
  FillContext(options_.job_id, *call->in_flight, wait, &request);
  outbox_.Add(SendCall{call->in_flight->attempt, std::move(request)});
}

void MemberCore::Withdraw(PendingCall* call) {
  if (!call->in_flight) return;
  if (call->meeting) {
    LeaveMeeting(call);
  } else {
    outbox_.Add(CancelSend{call->in_flight->attempt});
  }
  call->in_flight.reset();
}

Effects MemberCore::OnReply(SteadyTime now, uint64_t attempt, const absl::Status& status,
                            Response response) {
  const auto call = FindSend(attempt);
  if (call != calls_.end()) {
    TakeReply(now, call->first, &call->second, status, std::move(response));
  }
  return Settle(now);
}

MemberCore::Calls::iterator MemberCore::FindSend(uint64_t attempt) {
  return std::find_if(calls_.begin(), calls_.end(), [attempt](const auto& entry) {
    const std::optional<Stamp>& sent = entry.second.in_flight;
    return sent && sent->attempt == attempt;
  });
}

void MemberCore::TakeReply(SteadyTime now, CallId id, PendingCall* call, const absl::Status& status,
                           Response response) {
  const bool counts = session_.IsCurrent(*call->in_flight) ||
                      (call->last && (status.ok() || absl::IsDeadlineExceeded(status)));
  call->in_flight.reset();
  if (!counts) return;
  if (call->carries && !status.ok()) return End(now, id, status);
  if (IsTransportError(status)) return PauseBeforeRetry(now, id, call, status.message());
  call->answered = true;
  if (status.ok()) return End(now, id, std::move(response));
  if (absl::IsAborted(status) && !lifecycle_.has_left() && !call->only_in) {
    call->epoch ? lifecycle_.BreakEpoch(*call->epoch, {status, {}, now, {}})
                : lifecycle_.Fail(status);
  }
  End(now, id, status);
}

void MemberCore::PauseBeforeRetry(SteadyTime now, CallId id, PendingCall* call,
                                  absl::string_view why) {
  stream_.NoteError(why);
  // An answer that took a while was parked: the coordinator was there.
  if (!call->unavailable_since || now - call->sent_at > std::chrono::seconds(1)) {
    call->unavailable_since = now;
  }
  if (now > After(*call->unavailable_since, options_.coordinator_timeout)) {
    return End(now, id, Unreachable(now, *call));
  }
  call->paused_until = After(now, call->backoff.Next(options_.random));
}

void MemberCore::End(SteadyTime now, CallId id, absl::StatusOr<Response> reply) {
  const auto found = calls_.find(id);
  PendingCall call = std::move(found->second);
  calls_.erase(found);
  Withdraw(&call);
  call.ended = now;
  ++ends_;
  if (call.on_end) call.on_end(call, &reply);
  if (!call.in_background) {
    outbox_.Complete(id, std::move(reply));
  } else if (!reply.ok()) {
    outbox_.Add(
        WriteLog{LogLevel::kDebug, absl::StrCat(call.what, ": ", reply.status().message())});
  }
}

Effects MemberCore::Tick(SteadyTime now) {
  if (stream_.MustReopen(now)) Reattach(now);
  return Settle(now);
}

SteadyTime MemberCore::NextDeadline() const {
  SteadyTime next = stream_.NextDeadline();
  if (CanTell()) next = std::min(next, tell_groups_at_.value_or(SteadyTime::max()));
  for (const auto& [id, call] : calls_) next = std::min(next, DeadlineOf(call));
  return next;
}

SteadyTime MemberCore::DeadlineOf(const PendingCall& call) const {
  if (call.carries) return call.deadline.when();
  if (call.in_flight) return After(call.deadline.when(), options_.slack);
  if (call.paused_until) return *call.paused_until;
  return SessionDeadline(call);
}

SteadyTime MemberCore::SessionDeadline(const PendingCall& call) const {
  if (!stream_.registered() || session_.session()) return call.deadline.when();
  // What leads out of an epoch that has ended here tries anew.
  const SteadyTime since =
      call.leads_on ? std::max(call.start, stream_.detached_since()) : stream_.detached_since();
  return std::min(call.deadline.when(), After(since, options_.coordinator_timeout));
}

absl::Status MemberCore::Unreachable(SteadyTime now, const PendingCall& call) const {
  const bool timed_out = now >= call.deadline.when();
  const SteadyTime since =
      session_.session() ? call.unavailable_since.value_or(call.start) : stream_.detached_since();
  const std::string text = absl::StrCat(
      call.what, ": ", lifecycle_.Describe(),
      timed_out
          ? absl::StrCat(" timed out after ", absl::FormatDuration(call.deadline.timeout()), "; it")
          : "",
      " ", stream_.NotReachedSince(since, now), "; is musterd running there?");
  return WithExitCode(timed_out ? absl::DeadlineExceededError(text) : absl::UnavailableError(text),
                      kExitCoordinatorLost);
}

absl::Status MemberCore::NotRegistered(const PendingCall& call) const {
  const char* phase = options_.connected() ? "registering with" : "connecting to";
  const std::string text = absl::StrCat(
      call.what, ": timed out after ", absl::FormatDuration(call.deadline.timeout()), " while ",
      phase, " the coordinator at ", options_.coordinator,
      stream_.last_error().empty() ? "" : absl::StrCat(" (", stream_.last_error(), ")"),
      "; is musterd running there?");
  return WithExitCode(absl::DeadlineExceededError(text), kExitCoordinatorLost);
}

}  // namespace muster::internal
