#include "tests/simulation/lease_track.h"

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

LeaseTrack::LeaseTrack(Actor* actor, const Place& place, const EpochPlan* plan,
                       std::optional<UnpublishedWork>* unpublished, OnEnd on_end)
    : Track(actor, place, std::move(on_end)),
      plan_(plan),
      unpublished_(unpublished),
      steps_(plan->early_leaver == place.rank ? 0 : plan->leases.size()) {}

std::string LeaseTrack::Key(const LeaseStep& lease) const {
  return LeaseKey(lease, actor_->process->identity().node_id);
}

void LeaseTrack::Start() {
  actor_->Later([this] { *unpublished_ ? Complete() : Next(); });
}

void LeaseTrack::Next() { next_ == steps_ ? End(absl::OkStatus()) : Acquire(); }

void LeaseTrack::Acquire() {
  const absl::Duration timeout = actor_->DrawTimeout(tries_++);
  const internal::CallId id = actor_->process->Call(
      absl::StrCat("AcquireLease '", step().name, "'"), timeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.AcquireLease(now, call, place_.epoch, IdOf(step()),
                                   internal::Deadline(now, timeout));
      },
      [this, timeout](absl::StatusOr<internal::Response> reply) {
        if (!actor_->gone()) Acquired(timeout, std::move(reply));
      });
  actor_->MayCancel(id);
}

void LeaseTrack::Acquired(absl::Duration timeout, absl::StatusOr<internal::Response> reply) {
  actor_->CheckError("AcquireLease", reply.status());
  if (!reply.ok()) {
    if (EndsEpoch(reply.status())) return End(reply.status());
    if (MayRepeat("AcquireLease", timeout, reply.status())) {
      return actor_->Later([this] { Acquire(); });
    }
    Unexpected("AcquireLease", reply.status());
    return End(reply.status());
  }
  tries_ = 0;
  const auto& answer = std::get<v1::AcquireLeaseResponse>(*reply);
  if (!answer.has_granted()) return Learn(answer.completed());
  const uint64_t token = answer.granted().token();
  actor_->checks->leases.Granted(*actor_->process, Key(step()), token);
  Work(token, static_cast<int>(actor_->random.Pick(4)));
}

void LeaseTrack::Learn(const v1::LeaseResult& result) {
  actor_->checks->leases.Learned(*actor_->process, Key(step()), result.token(),
                                 internal::OutcomeOf(result));
  ++next_;
  actor_->Later([this] { Next(); });
}

void LeaseTrack::Work(uint64_t token, int writes) {
  actor_->checks->leases.Write(*actor_->process, Key(step()), token);
  actor_->Later([=] { writes > 0 ? Work(token, writes - 1) : Finish(token); });
}

void LeaseTrack::Finish(uint64_t token) {
  if (given_up_ < 2 && actor_->random.Chance(0.15)) return GiveUp(token);
  absl::StatusOr<std::string> outcome = absl::StrCat(step().name, " done under token ", token);
  if (actor_->random.Chance(0.2)) outcome = absl::DataLossError(*outcome);
  actor_->checks->leases.Publishes(Key(step()), token, outcome);
  unpublished_->emplace(UnpublishedWork{step(), token, std::move(outcome)});
  Complete();
}

void LeaseTrack::GiveUp(uint64_t token) {
  ++given_up_;
  actor_->stage->Say("process ", actor_->process->id(), " gives up '", step().name, "', token ",
                     token);
  actor_->checks->leases.Released(*actor_->process, Key(step()));
  actor_->process->Run([&](MemberCore& member, SteadyTime now) {
    return member.ReleaseLease(now, place_.epoch, IdOf(step()), token);
  });
  actor_->Later([this] { Acquire(); });
}

void LeaseTrack::Complete() {
  const UnpublishedWork& work = **unpublished_;
  actor_->process->Call(
      absl::StrCat("CompleteLease '", work.lease.name, "', token ", work.token), kCompleteTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.CompleteLease(now, call, place_.epoch, IdOf(work.lease), work.token,
                                    work.outcome);
      },
      [this](const absl::StatusOr<internal::Response>& reply) {
        if (!actor_->gone()) Completed(reply.status());
      });
}

void LeaseTrack::Completed(const absl::Status& status) {
  actor_->CheckError("CompleteLease", status);
  if (EndsEpoch(status)) return End(status);  // to be tried again in the next epoch
  if (!status.ok() && !absl::IsFailedPrecondition(status)) {
    Unexpected("CompleteLease", status);
    return End(status);
  }
  const UnpublishedWork& work = **unpublished_;
  actor_->checks->leases.Completed(*actor_->process, Key(work.lease), work.token, status);
  unpublished_->reset();
  // Calls again, and learns the outcome: its own, or the outcome of a process that took over.
  actor_->Later([this] { Next(); });
}

}  // namespace muster::simulation
