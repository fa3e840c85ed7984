#include "server/core/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {

// ---- The public face: every call is one step of the Impl ----

Coordinator::Coordinator(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Coordinator::~Coordinator() = default;

namespace {

// Runs one step. A status that is not OK refuses the call, which has changed nothing then.
template <class Impl, class Method, class Request>
Effects Call(Impl& impl, Time now, WaiterId waiter, Method method, const Request& request) {
  impl.Begin(now);
  if (absl::Status s = (impl.*method)(waiter, request); !s.ok()) impl.Refuse(waiter, s);
  return impl.Take();
}

}  // namespace

Effects Coordinator::Attach(Time now, WaiterId stream, const AttachRequest& request) {
  impl_->Begin(now);
  if (absl::Status s = impl_->Attach(stream, request); !s.ok()) impl_->RefuseStream(stream, s);
  return impl_->Take();
}

Effects Coordinator::StreamClosed(Time now, WaiterId stream) {
  impl_->Begin(now);
  impl_->StreamClosed(stream);
  return impl_->Take();
}

Effects Coordinator::Join(Time now, WaiterId waiter, const JoinRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<JoinRequest>, request);
}
Effects Coordinator::Rejoin(Time now, WaiterId waiter, const RejoinRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<RejoinRequest>, request);
}
Effects Coordinator::RequestStop(Time now, WaiterId waiter, const StopRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<StopRequest>, request);
}
Effects Coordinator::Collective(Time now, WaiterId waiter, const CollectiveRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<CollectiveRequest>, request);
}
Effects Coordinator::AcquireLease(Time now, WaiterId waiter, const AcquireLeaseRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<AcquireLeaseRequest>, request);
}
Effects Coordinator::CompleteLease(Time now, WaiterId waiter, const CompleteLeaseRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<CompleteLeaseRequest>, request);
}
Effects Coordinator::AbandonLease(Time now, WaiterId waiter, const AbandonLeaseRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<AbandonLeaseRequest>, request);
}
Effects Coordinator::Leave(Time now, WaiterId waiter, const LeaveRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<LeaveRequest>, request);
}
Effects Coordinator::ReportExit(Time now, WaiterId waiter, const ExitReport& report) {
  return Call(*impl_, now, waiter, &Impl::ReportExit, report);
}

Effects Coordinator::ReportProcessState(Time now, WaiterId waiter,
                                        const ProcessStateReport& report) {
  return Call(*impl_, now, waiter, &Impl::ReportProcessState, report);
}

Effects Coordinator::Cancel(Time now, WaiterId waiter) {
  impl_->Begin(now);
  impl_->Cancel(waiter);
  return impl_->Take();
}

Effects Coordinator::Tick(Time now) {
  impl_->Begin(now);
  impl_->Tick();
  return impl_->Take();
}

Time Coordinator::NextDeadline() const { return impl_->NextDeadline(); }

Effects Coordinator::Drain(Time now, std::string reason) {
  impl_->Begin(now);
  impl_->Drain(std::move(reason));
  return impl_->Take();
}

absl::Status Coordinator::CheckJob(absl::string_view job_id) const {
  return impl_->CheckJob(job_id);
}
JobStatus Coordinator::GetStatus(Time now) const { return impl_->GetStatus(now); }
std::optional<absl::Status> Coordinator::Outcome() const { return impl_->Outcome(); }
bool Coordinator::Quiet() const { return impl_->Quiet(); }
const Options& Coordinator::options() const { return impl_->options(); }

// ---- The frame: callers, waiters, time ----

Coordinator::Impl::Impl(Options options)
    : options_(std::move(options)),
      budget_(options_.limits.max_held_bytes),
      leases_(options_.limits.max_leases, options_.instance, &budget_) {}

std::string Coordinator::Impl::Say(absl::string_view text) const {
  return absl::StrCat("job '", options_.job_id, "': ", text);
}

absl::Status Coordinator::Impl::Say(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), Say(status.message()));
}

void Coordinator::Impl::Log(Severity severity, std::string text) {
  effects_.log.push_back({severity, std::move(text)});
}

void Coordinator::Impl::Refuse(WaiterId waiter, const absl::Status& status) {
  effects_.replies.push_back({waiter, Say(status), {}});
}

void Coordinator::Impl::RefuseStream(WaiterId stream, const absl::Status& status) {
  effects_.ends.push_back({stream, Say(status)});
}

void Coordinator::Impl::Respond(WaiterId id, Answer answer) {
  effects_.replies.push_back({id, absl::OkStatus(), std::move(answer)});
}

absl::Status Coordinator::Impl::CheckJob(absl::string_view job_id) const {
  if (job_id.empty() || job_id == options_.job_id) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("this coordinator serves job '", options_.job_id, "', not '",
                   absl::CHexEscape(job_id.substr(0, options_.limits.max_name_bytes)),
                   "'; check MUSTER_JOB and MUSTER_COORDINATOR of the caller"));
}

absl::Status Coordinator::Impl::CheckCallContext(const CallContext& call) const {
  if (draining_) return absl::UnavailableError(*draining_);
  if (call.job_id.empty()) return absl::InvalidArgumentError("the call's job_id is empty");
  if (absl::Status s = CheckJob(call.job_id); !s.ok()) return s;
  if (call.wait_timeout && *call.wait_timeout < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("wait_timeout is negative: ", absl::FormatDuration(*call.wait_timeout)));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::UnknownSession(const SessionId& session) const {
  if (session.daemon_instance != options_.instance) {
    // Never final: the caller has not attached here yet.
    return absl::UnavailableError("the call's session is not one of this daemon; attach first");
  }
  return absl::AbortedError(absl::StrCat(
      "session ", session.counter,
      " has ended: its process was detached for longer than the grace of ",
      absl::FormatDuration(options_.member_grace), ", or was replaced; start the process again"));
}

absl::StatusOr<Member*> Coordinator::Impl::Caller(const CallContext& call) {
  if (absl::Status s = CheckCallContext(call); !s.ok()) return s;
  const auto it = sessions_.find(call.session.counter);
  if (call.session.daemon_instance != options_.instance || it == sessions_.end()) {
    return UnknownSession(call.session);
  }
  Member* member = it->second;
  if (!(member->session == call.session)) {
    return absl::UnavailableError("the call names an older session of its process; repeat it");
  }
  if (member->lost) {
    return absl::AbortedError(
        absl::StrCat("this process, ", member->who(), ", was lost: ", member->lost->cause));
  }
  member->last_call = now_;
  return member;
}

absl::Status Coordinator::Impl::CheckEpoch(const Member& member, const EpochId& epoch) const {
  if (!epoch_ || !member.rank) {
    return absl::FailedPreconditionError(absl::StrCat(member.who(), " has not joined the job"));
  }
  if (!(epoch == epoch_->id)) {
    return absl::AbortedError(absl::StrCat("epoch ", epoch.number, " is not the current one, ",
                                           epoch_->id.number, "; join again"));
  }
  if (!epoch_->broken.ok()) return epoch_->broken;
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::CheckStays(const Member& member) const {
  if (!member.leaving) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(member.who(), " has called Leave; no collective or lease may follow it"));
}

absl::Status Coordinator::Impl::CanPark() const {
  if (waiters_.size() < options_.limits.max_waiters) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(waiters_.size(),
                                                   " calls are waiting at the coordinator, its "
                                                   "limit (musterd --max-waiters raises it)"));
}

void Coordinator::Impl::Park(WaiterId id, Waiter waiter, const CallContext& call,
                             std::string what) {
  waiter.since = call.since.value_or(now_);
  waiter.timeout = call.wait_timeout.value_or(options_.default_wait_timeout);
  waiter.member->parked.insert(id);
  if (!what.empty()) waiter.member->activity.Begin(id, std::move(what), waiter.since);
  WatchForStalls();
  deadlines_.Set(id, waiter.since + waiter.timeout);
  waiters_[id] = std::move(waiter);
}

std::optional<Waiter> Coordinator::Impl::Unpark(WaiterId id) {
  const auto it = waiters_.find(id);
  if (it == waiters_.end()) return std::nullopt;
  Waiter waiter = std::move(it->second);
  waiters_.erase(it);
  deadlines_.Clear(id);
  waiter.member->parked.erase(id);
  if (waiter.member->join_waiter == id) waiter.member->join_waiter = 0;
  if (waiter.member->leave_waiter == id) waiter.member->leave_waiter = 0;
  return waiter;
}

void Coordinator::Impl::Finish(WaiterId id, const absl::Status& status, Answer answer) {
  const std::optional<Waiter> waiter = Unpark(id);
  if (!waiter) return;
  Activity& activity = waiter->member->activity;
  status.ok() ? activity.Complete(id, now_) : activity.End(id, now_);
  effects_.replies.push_back({id, Say(status), std::move(answer)});
}

void Coordinator::Impl::Withdraw(WaiterId id) {
  const auto it = waiters_.find(id);
  if (it == waiters_.end()) return;
  const Waiter& waiter = it->second;
  switch (waiter.call) {
    case Waiter::Call::kJoin:
    case Waiter::Call::kRejoin:
      StopJoining(waiter.member);
      FormationChanged();
      break;
    case Waiter::Call::kCollective:
      waiter.group->Withdraw(*waiter.group->IndexOf(*waiter.member->rank), id);
      break;
    case Waiter::Call::kLease:
      leases_.Withdraw(waiter.lease, id);
      break;
    case Waiter::Call::kLeave:
      break;  // the intention to leave stands
    case Waiter::Call::kPutOff:
      budget_.Release(HeldBytes(*waiter.put_off));
      break;
  }
}

void Coordinator::Impl::FinishAllOf(Member* member, const absl::Status& status) {
  for (WaiterId id : std::set<WaiterId>(member->parked)) {
    Withdraw(id);
    Finish(id, status);
  }
}

void Coordinator::Impl::FinishServedOf(Member* member, const absl::Status& status) {
  for (WaiterId id : std::set<WaiterId>(member->parked)) {
    if (waiters_.at(id).call == Waiter::Call::kPutOff) continue;
    Withdraw(id);
    Finish(id, status);
  }
}

void Coordinator::Impl::Cancel(WaiterId id) {
  Withdraw(id);
  const std::optional<Waiter> waiter = Unpark(id);
  if (waiter) waiter->member->activity.End(id, now_);
  ResolveContenders();
}

void Coordinator::Impl::Tick() {
  ExpireGraces();
  ExpireContenders();
  ExpireFormation();
  CheckStalls();
  if (recovering() && *recovery_ends_ <= now_) EndRecovery();
  while (std::optional<WaiterId> id = deadlines_.Pop(now_)) TimeOut(*id);
}

// The text is made before the withdrawal: the caller's own arrival does not count as missing.
void Coordinator::Impl::TimeOut(WaiterId id) {
  const Waiter waiter = waiters_.at(id);
  absl::Status status;
  switch (waiter.call) {
    case Waiter::Call::kJoin:
      status = JoinTimeout(waiter);
      break;
    case Waiter::Call::kRejoin:
      status = RejoinTimeout(waiter);
      break;
    case Waiter::Call::kCollective:
      status = CollectiveTimeout(waiter);
      break;
    case Waiter::Call::kLease:
      status = LeaseTimeout(waiter);
      break;
    case Waiter::Call::kLeave:
      status = LeaveTimeout(waiter);
      break;
    case Waiter::Call::kPutOff:
      status = PutOffTimeout(waiter);
      break;
  }
  Log(Severity::kWarning, absl::StrCat(waiter.member->who(), ": ", status.message()));
  Withdraw(id);
  Finish(id, status);
  if (waiter.call == Waiter::Call::kLeave) {
    Lose({{waiter.member, "it left without waiting for the others any longer"}});
  }
  ResolveContenders();
}

Time Coordinator::Impl::NextDeadline() const {
  return std::min({deadlines_.Next(), graces_.Next(), contenders_.Next(), formation_timers_.Next(),
                   stall_check_, recovery_ends_.value_or(absl::InfiniteFuture())});
}

void Coordinator::Impl::Drain(std::string reason) {
  draining_ = std::move(reason);
  const absl::Status status = absl::UnavailableError(*draining_);
  recovery_ends_.reset();
  stall_check_ = absl::InfiniteFuture();
  while (!waiters_.empty()) Finish(waiters_.begin()->first, status);
  while (!streams_.empty()) EndStream(streams_.begin()->second, status);
}

std::optional<absl::Status> Coordinator::Impl::Outcome() const {
  if (recovering()) return std::nullopt;
  if (state_ == JobState::kFinished) return absl::OkStatus();
  if (state_ == JobState::kFailed) return Say(absl::AbortedError(reason_));
  return std::nullopt;
}

}  // namespace muster::core
