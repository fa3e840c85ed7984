#include "client/src/protocol/member_core.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages.h"

namespace muster::internal {
namespace {

std::string DescribeLease(const LeaseId& lease) {
  return absl::StrCat("lease '", lease.name, "' of the ",
                      lease.scope == LeaseScope::kNode ? "node" : "job");
}

// Whether a request for a lease may still be waiting, or be granted, at the coordinator.
bool MayBeGranted(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ||
         absl::IsUnavailable(status);
}

absl::Status CheckPlace(const PendingCall& call, const v1::JoinResponse& place) {
  if (place.rank() < static_cast<uint32_t>(place.roster_size())) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call.what, ": the coordinator gave rank ", place.rank(),
                                          " of ", place.roster_size()));
}

}  // namespace

MemberCore::MemberCore(MemberOptions options)
    : options_(std::move(options)), stream_backoff_(options_.random) {}

Effects MemberCore::Start(SteadyTime now) {
  detached_since_ = now;
  OpenAttach();
  return Settle(now);
}

Effects MemberCore::Join(SteadyTime now, CallId id, const JobOptions& options,
                         const Patience& patience) {
  PendingCall call = NewCall(now, absl::StrCat("joining job '", options.job, "'"), patience);
  call.request = [options] { return MakeJoin(options); };
  call.on_end = [this](const PendingCall& ended, auto* reply) { FinishJoin(ended, reply); };
  return Begin(now, id, std::move(call));
}

void MemberCore::FinishJoin(const PendingCall& call, absl::StatusOr<Response>* reply) {
  if (absl::IsDeadlineExceeded(reply->status()) && call.sends > 0) {
    *reply = absl::DeadlineExceededError(
        absl::StrCat(call.what, ": waiting for members: ", reply->status().message()));
  }
  if (!reply->ok()) return;
  const auto& place = std::get<v1::JoinResponse>(**reply);
  if (absl::Status valid = CheckPlace(call, place); !valid.ok()) {
    *reply = valid;
    return;
  }
  membership_.Entered(place);
  effects_.news = true;
}

Effects MemberCore::Collective(SteadyTime now, CallId id, const GroupId& group, CollectiveCall call,
                               const Patience& patience) {
  if (absl::Status status = CheckMember(group.epoch); !status.ok()) return Refuse(id, status);
  const auto sequence = membership_.GroupOf(group.name, group.ranks).sequence;
  if (absl::Status status = sequence->Begin(std::move(call)); !status.ok()) {
    return Refuse(id, status);
  }
  PendingCall pending = NewCall(now, sequence->Describe(), patience);
  pending.epoch = group.epoch;
  // What the sequence holds of the call does not change before End().
  pending.request = [group, sequence] {
    return MakeCollective(group.epoch, group.name, group.ranks, sequence->number(),
                          sequence->call());
  };
  pending.on_end = [sequence](const PendingCall& ended, auto* reply) {
    sequence->End(reply->status(), ended.sends);
  };
  return Begin(now, id, std::move(pending));
}

Effects MemberCore::AcquireLease(SteadyTime now, CallId id, const EpochId& epoch,
                                 const LeaseId& lease, const Patience& patience) {
  if (absl::Status status = CheckMember(epoch); !status.ok()) return Refuse(id, status);
  const uint64_t request = leases_.NewRequest();
  PendingCall call = NewCall(now, DescribeLease(lease), patience);
  call.epoch = epoch;
  call.request = [=] { return MakeAcquire(epoch, lease.name, lease.scope, request); };
  call.on_end = [this, lease, request](const PendingCall& ended, auto* reply) {
    FinishAcquire(lease, request, ended, *reply);
  };
  return Begin(now, id, std::move(call));
}

void MemberCore::FinishAcquire(const LeaseId& lease, uint64_t request, const PendingCall& call,
                               const absl::StatusOr<Response>& reply) {
  if (!reply.ok()) {
    if (call.sends > 0 && MayBeGranted(reply.status())) {
      Abandon(call.ended, *call.epoch, lease, request);
    }
    return;
  }
  const auto& answer = std::get<v1::AcquireLeaseResponse>(*reply);
  if (answer.has_granted()) {
    leases_.Granted(request, answer.granted().token());
  } else {
    leases_.Saw(answer.completed().token());
  }
}

Effects MemberCore::CompleteLease(SteadyTime now, CallId id, const EpochId& epoch,
                                  const LeaseId& lease, uint64_t token,
                                  const absl::StatusOr<std::string>& outcome) {
  if (absl::Status status = CheckMember(epoch); !status.ok()) return Refuse(id, status);
  PendingCall call = NewCall(now, absl::StrCat("completing ", DescribeLease(lease)),
                             Patience(now, options_.coordinator_timeout));
  call.epoch = epoch;
  call.request = [=] { return MakeComplete(lease.name, lease.scope, token, outcome); };
  call.on_end = [this, token](const PendingCall&, auto* reply) {
    if (reply->ok() || absl::IsFailedPrecondition(reply->status())) leases_.End(token);
  };
  return Begin(now, id, std::move(call));
}

Effects MemberCore::ReleaseLease(SteadyTime now, const EpochId& epoch, const LeaseId& lease,
                                 uint64_t token) {
  const std::optional<uint64_t> request = leases_.End(token);
  if (request) Abandon(now, epoch, lease, *request);
  return Settle(now);
}

void MemberCore::Abandon(SteadyTime now, const EpochId& epoch, const LeaseId& lease,
                         uint64_t request) {
  PendingCall call = NewCall(now, absl::StrCat("giving up ", DescribeLease(lease)),
                             Patience(now, options_.coordinator_timeout));
  call.epoch = epoch;
  call.in_background = true;
  call.request = [=] { return MakeAbandon(lease.name, lease.scope, request); };
  calls_.emplace(next_background_++, std::move(call));
}

Effects MemberCore::Leave(SteadyTime now, CallId id, const EpochId& epoch,
                          const Patience& patience) {
  if (left_) {
    effects_.completions.push_back({id, Response(v1::LeaveResponse())});
    return Settle(now);
  }
  leaving_ = true;
  PendingCall call = NewCall(now, absl::StrCat("leaving job '", options_.job_id, "'"), patience);
  call.epoch = epoch;
  call.last = true;
  call.request = [epoch] { return MakeLeave(epoch); };
  call.on_end = [this](const PendingCall& ended, auto* reply) { FinishLeave(ended, reply); };
  return Begin(now, id, std::move(call));
}

void MemberCore::FinishLeave(const PendingCall& call, absl::StatusOr<Response>* reply) {
  // A leaving member needs nothing of a job that broke. Past its deadline, though, it may be the
  // one that the coordinator counts as lost.
  if (absl::IsAborted(reply->status())) {
    if (call.ended >= call.patience.deadline) {
      *reply = absl::DeadlineExceededError(absl::StrCat(call.what, ": timed out after ",
                                                        absl::FormatDuration(call.patience.timeout),
                                                        "; ", reply->status().message()));
    } else {
      *reply = Response(v1::LeaveResponse());
    }
  }
  if (!reply->ok()) return;
  left_ = true;
  stream_.reopen_at.reset();
  effects_.outputs.push_back(CancelSend{stream_.attempt});
}

Effects MemberCore::Cancel(SteadyTime now, CallId id) {
  const auto call = calls_.find(id);
  if (call != calls_.end()) call->second.cancelled = true;
  return Settle(now);
}

Effects MemberCore::Stop(SteadyTime now) {
  stopping_ = true;
  stream_.reopen_at.reset();
  effects_.outputs.push_back(CancelSend{stream_.attempt});
  return Settle(now);
}

PendingCall MemberCore::NewCall(SteadyTime now, std::string what, const Patience& patience) const {
  return PendingCall(std::move(what), patience, now, options_.random);
}

Effects MemberCore::Begin(SteadyTime now, CallId id, PendingCall call) {
  calls_.emplace(id, std::move(call));
  return Settle(now);
}

Effects MemberCore::Refuse(CallId id, const absl::Status& why) {
  effects_.completions.push_back({id, why});
  return std::exchange(effects_, {});
}

absl::Status MemberCore::CheckMember(const EpochId& epoch) const {
  if (!leaving_) return HealthOf(epoch);
  return LeftError(options_.job_id, static_cast<int>(membership_.place()->rank()));
}

absl::Status MemberCore::HealthOf(const EpochId& epoch) const {
  const absl::Status health = membership_.HealthOf(epoch);
  return health.ok() ? fate_ : health;
}

std::string MemberCore::Describe() const {
  const std::string job = absl::StrCat("job '", options_.job_id, "'");
  const v1::JoinResponse* const place = membership_.place();
  return place == nullptr ? job : absl::StrCat("rank ", place->rank(), " of ", job);
}

}  // namespace muster::internal
