#include "tests/simulation/program/lease_task.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::simulation {
namespace {

using internal::MemberCore;
using internal::SteadyTime;

// As long as the SDK keeps trying to complete: while it looks for a coordinator.
constexpr absl::Duration kCompleteTimeout = absl::Minutes(10);

internal::LeaseId IdOf(const LeaseStep& lease) { return {lease.name, lease.scope}; }

}  // namespace

LeaseTask::LeaseTask(ProgramState* program_state, const Place& place, const EpochPlan* plan,
                     std::optional<UnpublishedWork>* unpublished, OnEnd on_end)
    : ProgramTask(program_state, place, std::move(on_end)),
      plan_(plan),
      unpublished_(unpublished),
      steps_(plan->early_leaver == place.rank ? 0 : plan->leases.size()) {}

std::string LeaseTask::Key(const LeaseStep& lease) const {
  return LeaseKey(lease, program_state_->process->identity().node_id);
}

void LeaseTask::Start() {
  program_state_->Later([this] { *unpublished_ ? Complete() : Next(); });
}

void LeaseTask::Next() { next_ == steps_ ? End(absl::OkStatus()) : Acquire(); }

void LeaseTask::Acquire() {
  const absl::Duration timeout = program_state_->DrawTimeout(tries_++);
  const internal::CallId id = program_state_->process->Call(
      absl::StrCat("AcquireLease '", step().name, "'"), timeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.AcquireLease(now, call, place_.epoch, IdOf(step()),
                                   internal::Deadline(now, timeout));
      },
      [this, timeout](absl::StatusOr<internal::Response> reply) {
        if (!program_state_->gone()) Acquired(timeout, std::move(reply));
      });
  program_state_->MayCancel(id);
}

void LeaseTask::Acquired(absl::Duration timeout, absl::StatusOr<internal::Response> reply) {
  program_state_->CheckError("AcquireLease", reply.status());
  if (!reply.ok()) {
    if (EndsEpoch(reply.status())) return End(reply.status());
    if (MayRepeat("AcquireLease", timeout, reply.status())) {
      return program_state_->Later([this] { Acquire(); });
    }
    Unexpected("AcquireLease", reply.status());
    return End(reply.status());
  }
  tries_ = 0;
  const auto& answer = std::get<v1::AcquireLeaseResponse>(*reply);
  if (!answer.has_granted()) return Learn(answer.completed());
  const uint64_t token = answer.granted().token();
  program_state_->checks->leases.Granted(*program_state_->process, Key(step()), token);
  Work(token, static_cast<int>(program_state_->random.Pick(4)));
}

void LeaseTask::Learn(const v1::LeaseResult& result) {
  program_state_->checks->leases.Learned(*program_state_->process, Key(step()), result.token(),
                                         internal::OutcomeOf(result));
  ++next_;
  program_state_->Later([this] { Next(); });
}

void LeaseTask::Work(uint64_t token, int writes) {
  program_state_->checks->leases.Write(*program_state_->process, Key(step()), token);
  program_state_->Later([=] { writes > 0 ? Work(token, writes - 1) : Finish(token); });
}

void LeaseTask::Finish(uint64_t token) {
  if (given_up_ < 2 && program_state_->random.Chance(0.15)) return GiveUp(token);
  absl::StatusOr<std::string> outcome = absl::StrCat(step().name, " done under token ", token);
  if (program_state_->random.Chance(0.2)) outcome = absl::DataLossError(*outcome);
  program_state_->checks->leases.Publishes(Key(step()), token, outcome);
  unpublished_->emplace(UnpublishedWork{step(), token, std::move(outcome)});
  Complete();
}

void LeaseTask::GiveUp(uint64_t token) {
  ++given_up_;
  program_state_->simulation->Trace("process ", program_state_->process->id(), " gives up '",
                                    step().name, "', token ", token);
  program_state_->checks->leases.Released(*program_state_->process, Key(step()));
  program_state_->process->Run([&](MemberCore& member, SteadyTime now) {
    return member.ReleaseLease(now, place_.epoch, IdOf(step()), token);
  });
  program_state_->Later([this] { Acquire(); });
}

void LeaseTask::Complete() {
  const UnpublishedWork& work = **unpublished_;
  program_state_->process->Call(
      absl::StrCat("CompleteLease '", work.lease.name, "', token ", work.token), kCompleteTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.CompleteLease(now, call, place_.epoch, IdOf(work.lease), work.token,
                                    work.outcome);
      },
      [this](const absl::StatusOr<internal::Response>& reply) {
        if (!program_state_->gone()) Completed(reply.status());
      });
}

void LeaseTask::Completed(const absl::Status& status) {
  program_state_->CheckError("CompleteLease", status);
  if (EndsEpoch(status)) return End(status);  // to be tried again in the next epoch
  if (!status.ok() && !absl::IsFailedPrecondition(status)) {
    Unexpected("CompleteLease", status);
    return End(status);
  }
  const UnpublishedWork& work = **unpublished_;
  program_state_->checks->leases.Completed(*program_state_->process, Key(work.lease), work.token,
                                           status);
  unpublished_->reset();
  // Calls again, and learns the outcome: its own, or the outcome of a process that took over.
  program_state_->Later([this] { Next(); });
}

}  // namespace muster::simulation
