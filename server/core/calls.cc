// What all calls share: who calls, how a call is parked, and how it ends.

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

WaitKind KindOf(const Wait& wait) {
  return std::visit(Overloaded{
                        [](const ForPlace&) { return WaitKind::kPlace; },
                        [](const ForCollective&) { return WaitKind::kCollective; },
                        [](const ForLease&) { return WaitKind::kLease; },
                        [](const ForLeavers&) { return WaitKind::kLeave; },
                        [](const ForRecovery&) { return WaitKind::kRecovery; },
                    },
                    wait);
}

// Time-outs of one kind are told of together where there are many.
std::string TimeoutKind(const Wait& wait) {
  return std::visit(
      Overloaded{
          [](const ForPlace& w) { return std::string(w.rejoins ? "Rejoin" : "Join"); },
          [](const ForCollective& w) {
            return absl::StrCat("collectives of ", w.group->description());
          },
          [](const ForLease&) { return std::string("AcquireLease"); },
          [](const ForLeavers&) { return std::string("Leave"); },
          [](const ForRecovery&) { return std::string("calls that wait for the recovery"); },
      },
      wait);
}

}  // namespace

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
      " is over: its process has attached again since then, which only its newer session may "
      "follow, or was detached for longer than the grace of ",
      absl::FormatDuration(options_.member_grace),
      " and is lost; a lost process must be started again"));
}

absl::StatusOr<Member*> Coordinator::Impl::Caller(const CallContext& call) {
  if (absl::Status s = CheckCallContext(call); !s.ok()) return s;
  Member* member = members_.FindBySession(call.session.counter);
  // A wrong key is answered as a session that is over: a guess learns nothing of the right one.
  if (member == nullptr || !(member->session() == call.session)) {
    return UnknownSession(call.session);
  }
  if (member->lost()) {
    return absl::AbortedError(
        absl::StrCat("this process, ", member->who(), ", was lost: ", member->lost()->cause));
  }
  if (absl::Status s = CheckWanted(*member, call); !s.ok()) return s;
  member->last_call = now_;
  return member;
}

absl::Status Coordinator::Impl::CheckWanted(const Member& member, const CallContext& call) const {
  if (member.withdrawn_sends.count(call.attempt) == 0) return absl::OkStatus();
  return absl::CancelledError("this send was given up while the coordinator recovered");
}

absl::Status Coordinator::Impl::CheckEpoch(const Member& member, const EpochId& epoch) const {
  if (!epoch_ || !member.rank()) {
    return absl::FailedPreconditionError(absl::StrCat(member.who(), " has not joined the job"));
  }
  if (!(epoch == epoch_->id())) {
    return absl::AbortedError(absl::StrCat("epoch ", epoch.number, " is not the current one, ",
                                           epoch_->id().number, "; join again"));
  }
  return epoch_->broken_with();
}

absl::Status Coordinator::Impl::CheckStays(const Member& member) const {
  if (!member.leaving()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(member.who(), " has called Leave; no collective or lease may follow it"));
}

absl::Status Coordinator::Impl::CanPark(const Member& member) const {
  const Limits& limits = options_.limits;
  if (parked_.CountOf(member) >= limits.max_waiters_per_member) {
    return absl::ResourceExhaustedError(
        absl::StrCat(member.who(), " has ", limits.max_waiters_per_member,
                     " calls waiting at the coordinator, the limit of one member (musterd "
                     "--max-waiters-per-member raises it)"));
  }
  if (parked_.size() < limits.max_waiters) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(parked_.size(),
                                                   " calls are waiting at the coordinator, its "
                                                   "limit (musterd --max-waiters raises it)"));
}

void Coordinator::Impl::Park(WaiterId id, Member* member, Wait wait, const CallContext& call,
                             Words what) {
  const Time since = call.since.value_or(now_);
  if (what != nullptr) member->activity.Begin(id, std::move(what), since);
  WatchForStalls();
  parked_.Park(id, {member, since, call.wait_timeout.value_or(options_.default_wait_timeout),
                    std::move(wait)});
}

std::optional<ParkedCall> Coordinator::Impl::Unpark(WaiterId id, bool completed) {
  std::optional<ParkedCall> call = parked_.Take(id);
  if (call) call->member->activity.Finish(id, completed, now_);
  return call;
}

void Coordinator::Impl::Finish(WaiterId id, const absl::Status& status, Answer answer) {
  if (!Unpark(id, status.ok())) return;
  if (NodeBatches::IsPart(id)) return batches_.End(id, status, std::move(answer));
  out_.Reply(id, status, std::move(answer));
}

void Coordinator::Impl::Withdraw(WaiterId id) {
  const ParkedCall* call = parked_.Find(id);
  if (call == nullptr) return;
  std::visit(Overloaded{
                 [&](const ForPlace&) { StopSeeking(call->member); },
                 [&](const ForCollective& wait) { wait.group->Withdraw(wait.index, id); },
                 [&](const ForLease& wait) {
                   leases_.Withdraw(wait.key, {call->member->incarnation(), wait.request_id});
                 },
                 [&](const ForLeavers&) {},  // the intention to leave stands
                 [&](const ForRecovery& wait) { budget_.Release(HeldBytes(*wait.call)); },
             },
             call->wait);
}

// A call that was served leaves its content behind, and is known by it; a deferred one leaves
// nothing.
void Coordinator::Impl::NoteWithdrawn(const ParkedCall& call) {
  const auto* deferred = std::get_if<ForRecovery>(&call.wait);
  if (deferred == nullptr) return;
  std::set<uint64_t>& withdrawn = call.member->withdrawn_sends;
  withdrawn.insert(std::visit([](const auto& c) { return c.call.attempt; }, *deferred->call));
  if (withdrawn.size() > options_.limits.max_waiters_per_member) {
    withdrawn.erase(withdrawn.begin());
  }
}

void Coordinator::Impl::FinishAllOf(Member* member, const absl::Status& status) {
  for (WaiterId id : parked_.Of(*member)) {
    Withdraw(id);
    Finish(id, status);
  }
}

void Coordinator::Impl::FinishServedOf(Member* member, const absl::Status& status) {
  for (WaiterId id : parked_.Of(*member)) {
    if (std::holds_alternative<ForRecovery>(parked_.Find(id)->wait)) continue;
    Withdraw(id);
    Finish(id, status);
  }
}

void Coordinator::Impl::Take(WaiterId id, const CallCancelled&) {
  if (batches_.Forget(id)) return;  // its parts stay
  Withdraw(id);
  const std::optional<ParkedCall> call = Unpark(id, /*completed=*/false);
  if (call) NoteWithdrawn(*call);
}

absl::Status Coordinator::Impl::DescribeTimeout(const ParkedCall& call) {
  return std::visit(Overloaded{
                        [&](const ForPlace& wait) {
                          return wait.rejoins ? RejoinTimeout(call) : JoinTimeout(call);
                        },
                        [&](const ForCollective& wait) { return CollectiveTimeout(call, wait); },
                        [&](const ForLease& wait) { return LeaseTimeout(call, wait); },
                        [&](const ForLeavers&) { return LeaveTimeout(call); },
                        [&](const ForRecovery&) {
                          return absl::DeadlineExceededError(absl::StrCat(
                              "waited ", HowLong(call.timeout), "; ", DescribeAwaited()));
                        },
                    },
                    call.wait);
}

void Coordinator::Impl::Log(Severity severity, std::string text, absl::string_view kind,
                            bool told) {
  timeline_.Add(now_, severity, text, kind);
  out_.Log(severity, std::move(text), told);
}

// A program may try a call with a short time-out, again and again.
void Coordinator::Impl::LogTimeout(const ParkedCall& call, const absl::Status& status) {
  const bool told = timeouts_.Tells(now_, TimeoutKind(call.wait));
  Log(told ? Severity::kWarning : Severity::kDebug,
      absl::StrCat(call.member->who(), ": ", status.message()), "time-out");
}

void Coordinator::Impl::TellTimeoutsLeftOut() {
  while (const std::optional<RepeatLimiter::LeftOut> ended = timeouts_.TakeEnded(now_)) {
    if (ended->count == 0) continue;
    Log(Severity::kWarning,
        absl::StrCat(ended->count, " more time-outs of ", ended->kind, " in the last ",
                     HowLong(RepeatLimiter::kWindow),
                     " were left out here (--log-level debug shows them)"),
        "time-out");
  }
}

// The text is made before the withdrawal: the caller's own arrival does not count as missing.
void Coordinator::Impl::TimeOut(WaiterId id) {
  const ParkedCall& call = *parked_.Find(id);
  if (NodeBatches::IsPart(id)) {  // its member is told by a call of its own
    Withdraw(id);
    return Finish(id, absl::DeadlineExceededError("the part's wait has ended"));
  }
  Member* member = call.member;
  const bool leaves = std::holds_alternative<ForLeavers>(call.wait);
  const absl::Status status = DescribeTimeout(call);
  Count(KindOf(call.wait), &tally_.counters.timeouts);
  LogTimeout(call, status);
  if (std::holds_alternative<ForCollective>(call.wait)) Inquire(std::string(status.message()));
  NoteWithdrawn(call);
  Withdraw(id);
  Finish(id, status);
  if (leaves) {
    Lose({{member, LossCause::kLeftEarly, "it left without waiting for the others any longer"}});
  }
}

}  // namespace muster::core
