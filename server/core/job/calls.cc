// The rules that all calls share: who calls, how a call is parked, and how it ends.

#include "server/core/job/calls.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"
#include "server/core/api/describe.h"
#include "server/core/group/collective_group.h"

namespace muster::core {
namespace {

WaitKind KindOf(const WaitReason& wait) {
  return std::visit(Overloaded{
                        [](const WaitForPlace&) { return WaitKind::kPlace; },
                        [](const WaitForCollective&) { return WaitKind::kCollective; },
                        [](const WaitForLease&) { return WaitKind::kLease; },
                        [](const WaitForLeavers&) { return WaitKind::kLeave; },
                        [](const WaitForRecovery&) { return WaitKind::kRecovery; },
                    },
                    wait);
}

// Returns the kind under which a time-out is counted. If there are many of one kind, the log
// reports them together.
std::string TimeoutKind(const WaitReason& wait) {
  return std::visit(
      Overloaded{
          [](const WaitForPlace& w) { return std::string(w.rejoins ? "Rejoin" : "Join"); },
          [](const WaitForCollective& w) {
            return absl::StrCat("collectives of ", w.group->description());
          },
          [](const WaitForLease&) { return std::string("AcquireLease"); },
          [](const WaitForLeavers&) { return std::string("Leave"); },
          [](const WaitForRecovery&) { return std::string("calls that wait for the recovery"); },
      },
      wait);
}

}  // namespace

absl::StatusOr<Member*> Calls::Caller(const CallContext& call) {
  if (absl::Status s = CheckContext(call); !s.ok()) return s;
  Member* member = members_.FindBySession(call.session.counter);
  // A wrong key gets the same error as a session that is over, so that guessing reveals nothing
  // about the right key.
  if (member == nullptr || !(member->session() == call.session)) {
    return UnknownSession(call.session);
  }
  if (member->lost()) {
    return absl::AbortedError(
        absl::StrCat("this process, ", member->Describe(), ", was lost: ", member->lost()->cause));
  }
  if (absl::Status s = CheckWanted(*member, call); !s.ok()) return s;
  member->last_call = job_.now;
  return member;
}

absl::Status Calls::CheckContext(const CallContext& call) const {
  if (job_.draining) return absl::UnavailableError(*job_.draining);
  if (call.job_id.empty()) {
    return absl::InvalidArgumentError(
        "the call's job_id is empty; set it to the coordinator's job");
  }
  if (absl::Status s = job_.CheckJob(call.job_id); !s.ok()) return s;
  if (call.wait_timeout && *call.wait_timeout < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("wait_timeout is negative: ", absl::FormatDuration(*call.wait_timeout)));
  }
  return absl::OkStatus();
}

absl::Status Calls::UnknownSession(const SessionId& session) const {
  if (session.daemon_instance != job_.options.instance) {
    // UNAVAILABLE, because the caller may attach here and repeat the call.
    return absl::UnavailableError(
        "the call's session belongs to another musterd process; attach to this one, then repeat "
        "the call");
  }
  return absl::AbortedError(absl::StrCat(
      "session ", session.counter,
      " is over: either its process has attached again and must use its newer session, or it was "
      "detached for longer than the grace of ",
      absl::FormatDuration(job_.options.member_grace), " and is lost. Start a lost process again"));
}

absl::Status Calls::CheckWanted(const Member& member, const CallContext& call) const {
  if (member.withdrawn_sends.count(call.attempt) == 0) return absl::OkStatus();
  return absl::CancelledError("this send was given up while the coordinator recovered");
}

absl::Status Calls::CanPark(const Member& member) const {
  const Limits& limits = job_.options.limits;
  if (parked_.CountOf(member) >= limits.max_waiters_per_member) {
    return absl::ResourceExhaustedError(
        absl::StrCat(member.Describe(), " has ", limits.max_waiters_per_member,
                     " calls waiting at the coordinator, the limit of one member (musterd "
                     "--max-waiters-per-member raises it)"));
  }
  if (parked_.size() < limits.max_waiters) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(parked_.size(),
                                                   " calls are waiting at the coordinator, its "
                                                   "limit (musterd --max-waiters raises it)"));
}

void Calls::Park(WaiterId id, Member* member, WaitReason wait, const CallContext& call,
                 Description what) {
  const Time since = call.since.value_or(job_.now);
  if (what != nullptr) member->activity.Begin(id, std::move(what), since);
  if (IsServed(id)) served_.reset();
  stalls_.Begin();
  parked_.Park(id, {member, since, call.wait_timeout.value_or(job_.options.default_wait_timeout),
                    std::move(wait)});
}

std::optional<ParkedCall> Calls::Reopen(WaiterId id) {
  std::optional<ParkedCall> call = parked_.Take(id);
  if (call) served_ = Served{id, call->member};
  return call;
}

void Calls::ParkBatch(WaiterId id, size_t parts) {
  if (IsServed(id)) served_.reset();
  batches_.Add(id, parts);
}

bool Calls::Close(WaiterId id, bool completed) {
  Member* member = nullptr;
  if (IsServed(id)) {
    member = std::exchange(served_, std::nullopt)->member;
  } else if (const std::optional<ParkedCall> call = parked_.Take(id)) {
    member = call->member;
  } else {
    return false;
  }
  if (member != nullptr) member->activity.Finish(id, completed, job_.now);
  return true;
}

void Calls::Finish(WaiterId id, const absl::Status& status, Answer answer) {
  if (!Close(id, status.ok())) return;
  if (NodeBatches::IsPart(id)) return batches_.End(id, status, std::move(answer));
  job_.out.Reply(id, status, std::move(answer));
}

void Calls::TimeOut(WaiterId id, const absl::Status& status) {
  NoteGivenUp(*parked_.Find(id));
  Finish(id, status);
}

void Calls::Drop(WaiterId id) {
  const ParkedCall* call = parked_.Find(id);
  if (call == nullptr) return;
  NoteGivenUp(*call);
  Close(id, /*completed=*/false);
}

void Calls::AnswerBatches() {
  for (NodeBatches::Done& done : batches_.TakeDone()) {
    job_.out.Reply(done.call, absl::OkStatus(), std::move(done.answer));
  }
}

// Remembers the send of a deferred call that was given up. A call that was served left its content
// behind and is recognized by it. A deferred call leaves nothing else.
void Calls::NoteGivenUp(const ParkedCall& call) {
  const auto* deferred = std::get_if<WaitForRecovery>(&call.wait);
  if (deferred == nullptr) return;
  std::set<uint64_t>& withdrawn = call.member->withdrawn_sends;
  withdrawn.insert(std::visit([](const auto& c) { return c.call.attempt; }, *deferred->call));
  if (withdrawn.size() > job_.options.limits.max_waiters_per_member) {
    withdrawn.erase(withdrawn.begin());
  }
}

// Limits the warnings, because a program may try a call with a short time-out again and again.
void Calls::NoteTimeout(const ParkedCall& call, const absl::Status& status) {
  Count(KindOf(call.wait), &job_.tally.counters.timeouts);
  const bool first = timeouts_.Allows(job_.now, TimeoutKind(call.wait));
  job_.Log(first ? Severity::kWarning : Severity::kDebug,
           absl::StrCat(call.member->Describe(), ": ", status.message()), "time-out");
}

void Calls::LogSuppressedTimeouts() {
  while (const std::optional<RepeatLimiter::Suppressed> ended = timeouts_.TakeEnded(job_.now)) {
    if (ended->count == 0) continue;
    job_.Log(Severity::kWarning,
             absl::StrCat(ended->count, " more time-outs of ", ended->kind, " in the last ",
                          DescribeDuration(RepeatLimiter::kWindow),
                          " were left out here (--log-level debug shows them)"),
             "time-out");
  }
}

}  // namespace muster::core
