#include "client/src/protocol/pending_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/protocol/messages/messages.h"
#include "client/src/protocol/messages/named_members.h"
#include "client/src/protocol/messages/transport_error.h"

namespace muster::internal {

PendingCalls::PendingCalls(const MemberOptions& options, const MemberEpochs& epochs,
                           SessionState* session, MemberLifecycle* lifecycle, AttachStream* stream,
                           MemberOutbox* outbox)
    : options_(options),
      epochs_(epochs),
      session_(*session),
      lifecycle_(*lifecycle),
      stream_(*stream),
      outbox_(*outbox) {}

PendingCall PendingCalls::NewInBackground(SteadyTime now, std::string what) const {
  PendingCall call(std::move(what), Deadline(now, options_.coordinator_timeout), now);
  call.in_background = true;
  return call;
}

CallId PendingCalls::BeginInBackground(PendingCall call) {
  calls_.emplace(next_background_, std::move(call));
  return next_background_++;
}

void PendingCalls::Cancel(CallId id) {
  const auto call = calls_.find(id);
  if (call != calls_.end()) call->second.cancelled = true;
}

void PendingCalls::Drop(CallId id) {
  const auto call = calls_.find(id);
  if (call == calls_.end()) return;
  Withdraw(&call->second);
  calls_.erase(call);
}

void PendingCalls::RestartCallsOf(const MemberGroup& group) {
  for (auto next = calls_.begin(); next != calls_.end();) {
    const auto entry = next++;
    PendingCall& call = entry->second;
    if (call.group.get() != &group) continue;
    Withdraw(&call);
    if (call.in_background) {
      calls_.erase(entry);
      continue;
    }
    call.sends = 0;
    call.paused_until.reset();
    call.unavailable_since.reset();
  }
}

bool PendingCalls::IsCalled(const MemberGroup& group) const {
  return std::any_of(calls_.begin(), calls_.end(), [&group](const auto& entry) {
    return entry.second.is_collective() && entry.second.group.get() == &group;
  });
}

bool PendingCalls::Advance(SteadyTime now) {
  const uint64_t before = ends_;
  for (auto next = calls_.begin(); next != calls_.end();) {
    const auto call = next++;
    Advance(now, call->first, &call->second);
  }
  return ends_ != before;
}

void PendingCalls::Advance(SteadyTime now, CallId id, PendingCall* call) {
  if (call->leaves_round) return;
  if (absl::Status status = Interruption(*call); !status.ok()) {
    return call->may_commit ? BeginToLeave(call) : End(now, id, status);
  }
  if (MustAwaitRounds(*call) || MustWaitForBackground(now, *call)) return;
  if (calls_.count(call->after) > 0) {
    if (now >= call->deadline.when()) End(now, id, Unreachable(now, *call));
    return;
  }
  if (call->blocked_by && !call->in_flight) {
    const absl::string_view why = call->blocked_by(now, *call->group);
    if (!why.empty()) return WaitForGroup(now, id, call, why);
  }
  const bool sent = call->in_flight.has_value();
  if (sent && !call->last && !session_.IsCurrent(*call->in_flight)) Withdraw(call);
  if (call->leaves_round) return;
  if (call->paused_until && now >= *call->paused_until) call->paused_until.reset();
  if (call->in_flight || (!call->paused_until && !session_.session())) {
    if (now < DeadlineOf(*call)) return;
    if (call->may_commit) return BeginToLeave(call);
    return End(now, id, stream_.registered() ? Unreachable(now, *call) : NotRegistered(*call));
  }
  if (!call->paused_until) Send(now, id, call);
}

absl::Status PendingCalls::Interruption(const PendingCall& call) const {
  if (lifecycle_.was_stopped()) {
    return absl::CancelledError(absl::StrCat(call.what, ": the Job was destroyed"));
  }
  if (!call.last || !call.in_flight) {
    const bool bound = call.epoch && !call.outlives_epoch;
    const absl::Status health =
        bound ? lifecycle_.HealthOf(*call.epoch) : lifecycle_.final_status();
    if (!health.ok()) return health;
  }
  if (call.leads_on && epochs_.IsLast()) {
    const absl::Status end = epochs_.Health();
    return WithFacts(
        absl::FailedPreconditionError(absl::StrCat(
            call.what, ": no epoch follows this one, since the job is not elastic (musterd ",
            "--min-world-size) or has failed for good: ", end.message())),
        FactsOf(end));
  }
  if (call.only_in && !(call.only_in == session_.session())) {
    return absl::CancelledError("the session has ended");
  }
  if (call.carries && FindInRound(*call.carries) == nullptr) {
    return absl::CancelledError("the arrival for which it was sent has ended");
  }
  if (!call.cancelled) return absl::OkStatus();
  return absl::CancelledError(
      absl::StrCat(call.what, ": ", lifecycle_.Describe(), " was cancelled"));
}

// Holds back a claim that leads into the next epoch: it must tell of every collective that has
// completed.
bool PendingCalls::MustAwaitRounds(const PendingCall& call) const {
  return call.leads_on && !call.in_flight && LeavesRounds();
}

// Holds Leave back until background calls have ended. Otherwise an abandoned lease would be held
// until this process counts as lost, or other ranks would count on a withdrawn arrival.
bool PendingCalls::MustWaitForBackground(SteadyTime now, const PendingCall& call) const {
  if (!call.last || call.in_flight || now >= call.deadline.when()) return false;
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const auto& entry) { return entry.second.before_leave; });
}

void PendingCalls::WaitForGroup(SteadyTime now, CallId id, PendingCall* call,
                                absl::string_view why) {
  call->paused_until.reset();
  if (now < DeadlineOf(*call)) return;
  if (!session_.session()) return End(now, id, Unreachable(now, *call));
  End(now, id,
      absl::DeadlineExceededError(
          absl::StrCat(call->what, ": ", lifecycle_.Describe(), " timed out after ",
                       absl::FormatDuration(call->deadline.timeout()), "; ", why)));
}

void PendingCalls::Send(SteadyTime now, CallId id, PendingCall* call) {
  call->in_flight = session_.NewStamp();
  call->answered = false;
  ++call->sends;
  if (call->is_collective() && call->sends == 1 && !call->group->sequence.is_fixed()) {
    call->group->arrivals.SentFirst(call->in_flight->session);
  }
  if (call->sends == 1 && call->start_round && call->start_round(now, id, call)) {
    call->in_round = true;
    call->sent_at = now;
  } else {
    SendInFlight(now, call);
  }
}

void PendingCalls::SendInFlight(SteadyTime now, PendingCall* call) {
  const absl::Duration wait = std::max(absl::ZeroDuration(), Between(now, call->deadline.when()));
  call->sent_at = now;
  Request request = call->request(now);
  FillContext(options_.job_id, *call->in_flight, wait, &request);
  outbox_.Add(SendCall{call->in_flight->attempt, std::move(request)});
}

void PendingCalls::BeginToLeave(PendingCall* call) {
  if (std::exchange(call->leaves_round, true)) return;
  outbox_.Add(LeaveFanIn{call->in_flight->attempt});
}

void PendingCalls::Withdraw(PendingCall* call) {
  if (!call->in_flight) return;
  if (call->may_commit) return BeginToLeave(call);
  const Stamp& sent = *call->in_flight;
  if (std::exchange(call->in_round, false)) {
    outbox_.Add(LeaveFanIn{sent.attempt});
    // Another member may have taken the arrival. OnFanInEnd() comes too late to tell.
    call->group->arrivals.MayComeLate(sent.session);
  } else {
    outbox_.Add(CancelSend{sent.attempt});
  }
  call->in_flight.reset();
}

void PendingCalls::TakeReply(SteadyTime now, uint64_t attempt, const absl::Status& status,
                             Response response) {
  const auto call = FindSend(attempt);
  if (call == calls_.end()) return;
  TakeReply(now, call->first, &call->second, status, std::move(response));
}

PendingCalls::Calls::iterator PendingCalls::FindSend(uint64_t attempt) {
  return std::find_if(calls_.begin(), calls_.end(), [attempt](const auto& entry) {
    const std::optional<Stamp>& sent = entry.second.in_flight;
    return sent && sent->attempt == attempt;
  });
}

// Notes whom the coordinator's error names.
absl::Status PendingCalls::Named(const PendingCall& call, const absl::Status& error) const {
  if (!call.epoch) return WithNamedProcesses(error, epochs_.place());
  return WithNamedMembers(error, epochs_.PlaceIn(*call.epoch),
                          call.is_collective() ? call.what : "");
}

void PendingCalls::TakeReply(SteadyTime now, CallId id, PendingCall* call,
                             const absl::Status& reply, Response response) {
  const absl::Status status = Named(*call, reply);
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

void PendingCalls::PauseBeforeRetry(SteadyTime now, CallId id, PendingCall* call,
                                    absl::string_view why) {
  stream_.NoteError(why);
  // A slow answer was parked at the coordinator, so the coordinator was there.
  if (!call->unavailable_since || now - call->sent_at > std::chrono::seconds(1)) {
    call->unavailable_since = now;
  }
  if (now > After(*call->unavailable_since, options_.coordinator_timeout)) {
    return End(now, id, Unreachable(now, *call));
  }
  call->paused_until = After(now, call->backoff.Next(options_.random));
}

void PendingCalls::End(SteadyTime now, CallId id, absl::StatusOr<Response> reply) {
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

const PendingCall* PendingCalls::FindInRound(uint64_t attempt) const {
  const PendingCall* const call = FindRound(attempt);
  return call == nullptr || call->leaves_round ? nullptr : call;
}

bool PendingCalls::LeavesRounds() const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const auto& entry) { return entry.second.leaves_round; });
}

const PendingCall* PendingCalls::FindRound(uint64_t attempt) const {
  for (const auto& [id, call] : calls_) {
    if (call.in_round && call.in_flight->attempt == attempt) return &call;
  }
  return nullptr;
}

void PendingCalls::EndRound(PendingCall* call) {
  call->in_round = false;
  call->may_commit = false;
  call->leaves_round = false;
}

void PendingCalls::SendAlone(SteadyTime now, uint64_t attempt) {
  PendingCall& call = FindSend(attempt)->second;
  EndRound(&call);
  SendInFlight(now, &call);
}

void PendingCalls::SendAnew(uint64_t attempt) {
  PendingCall& call = FindSend(attempt)->second;
  EndRound(&call);
  call.in_flight.reset();
}

void PendingCalls::Answer(SteadyTime now, uint64_t attempt, Response answer) {
  const auto call = FindSend(attempt);
  EndRound(&call->second);
  call->second.in_flight.reset();
  call->second.answered = true;
  End(now, call->first, std::move(answer));
}

void PendingCalls::LeaveRounds() {
  for (auto& [id, call] : calls_) {
    if (call.in_round) Withdraw(&call);
  }
}

SteadyTime PendingCalls::NextDeadline() const {
  SteadyTime next = SteadyTime::max();
  for (const auto& [id, call] : calls_) next = std::min(next, DeadlineOf(call));
  return next;
}

SteadyTime PendingCalls::DeadlineOf(const PendingCall& call) const {
  if (call.leaves_round || MustAwaitRounds(call)) return SteadyTime::max();
  if (call.carries) return call.deadline.when();
  if (call.in_flight) return After(call.deadline.when(), options_.slack);
  if (call.paused_until) return *call.paused_until;
  return SessionDeadline(call);
}

SteadyTime PendingCalls::SessionDeadline(const PendingCall& call) const {
  if (!stream_.registered() || session_.session()) return call.deadline.when();
  // A Rejoin may follow a give-up. It then retries for coordinator_timeout from its own start,
  // although the member has been detached for longer.
  const SteadyTime since =
      call.leads_on ? std::max(call.start, stream_.detached_since()) : stream_.detached_since();
  return std::min(call.deadline.when(), After(since, options_.coordinator_timeout));
}

absl::Status PendingCalls::Unreachable(SteadyTime now, const PendingCall& call) const {
  const bool timed_out = now >= call.deadline.when();
  const SteadyTime since =
      session_.session() ? call.unavailable_since.value_or(call.start) : stream_.detached_since();
  const std::string text = absl::StrCat(
      call.what, ": ", lifecycle_.Describe(),
      timed_out
          ? absl::StrCat(" timed out after ", absl::FormatDuration(call.deadline.timeout()), "; it")
          : "",
      " ", stream_.NotReachedSince(since, now), "; check that musterd runs there");
  return WithExitCode(timed_out ? absl::DeadlineExceededError(text) : absl::UnavailableError(text),
                      kExitCoordinatorLost);
}

absl::Status PendingCalls::NotRegistered(const PendingCall& call) const {
  const char* phase = options_.connected() ? "registering with" : "connecting to";
  const std::string text = absl::StrCat(
      call.what, ": timed out after ", absl::FormatDuration(call.deadline.timeout()), " while ",
      phase, " the coordinator at ", options_.coordinator,
      stream_.last_error().empty() ? "" : absl::StrCat(" (", stream_.last_error(), ")"),
      "; check that musterd runs there, and that both sides use TLS or neither (MUSTER_TLS_CA)");
  return WithExitCode(absl::DeadlineExceededError(text), kExitCoordinatorLost);
}

}  // namespace muster::internal
