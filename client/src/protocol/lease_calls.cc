#include "client/src/protocol/lease_calls.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

std::string DescribeLease(const LeaseId& lease) {
  return absl::StrCat("lease '", lease.name, "' of the ",
                      lease.scope == LeaseScope::kNode ? "node" : "job");
}

// Returns whether the coordinator may still queue the request or grant it. The request may time out
// here while it is queued there; then the holder releases the lease, and the coordinator grants it
// to a process that has stopped waiting. ABORTED counts, because a grant outlives its epoch, whose
// end may arrive first.
bool MayBeGranted(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ||
         absl::IsUnavailable(status) || absl::IsAborted(status);
}

}  // namespace

LeaseCalls::LeaseCalls(const MemberOptions& options, const MemberLifecycle& lifecycle,
                       const AttachStream& stream, PendingCalls* calls)
    : options_(options), lifecycle_(lifecycle), stream_(stream), calls_(*calls) {}

void LeaseCalls::Acquire(SteadyTime now, CallId id, const EpochId& epoch, const LeaseId& lease,
                         const Deadline& deadline) {
  const uint64_t request = records_.NewRequest();
  PendingCall call(DescribeLease(lease), deadline, now);
  call.epoch = epoch;
  call.request = [=](SteadyTime) { return MakeAcquire(epoch, lease.name, lease.scope, request); };
  call.on_end = [this, lease, request](const PendingCall& ended, auto* reply) {
    FinishAcquire(lease, request, ended, *reply);
  };
  calls_.Begin(id, std::move(call));
}

void LeaseCalls::FinishAcquire(const LeaseId& lease, uint64_t request, const PendingCall& call,
                               const absl::StatusOr<Response>& reply) {
  if (!reply.ok()) {
    if (call.sends > 0 && MayBeGranted(reply.status())) {
      Abandon(call.ended, *call.epoch, lease, request);
    }
    return;
  }
  const auto& answer = std::get<v1::AcquireLeaseResponse>(*reply);
  if (answer.has_granted()) {
    records_.Granted(lease, request, answer.granted().token());
  } else {
    NoteCompleted(lease, answer.completed());
  }
}

absl::Status LeaseCalls::Complete(SteadyTime now, CallId id, const EpochId& epoch,
                                  const LeaseId& lease, uint64_t token,
                                  const absl::StatusOr<std::string>& outcome) {
  if (!records_.Holds(token)) return NotHeld(lease, token);
  PendingCall call(absl::StrCat("completing ", DescribeLease(lease)),
                   Deadline(now, options_.coordinator_timeout), now);
  // Leases belong to the job, and outlive the epoch in which they were granted.
  call.epoch = epoch;
  call.outlives_epoch = true;
  call.request = [=](SteadyTime) { return MakeComplete(lease.name, lease.scope, token, outcome); };
  call.on_end = [this, lease, token, outcome](const PendingCall&, auto* reply) {
    FinishComplete(lease, token, outcome, reply->status());
  };
  calls_.Begin(id, std::move(call));
  return absl::OkStatus();
}

void LeaseCalls::FinishComplete(const LeaseId& lease, uint64_t token,
                                const absl::StatusOr<std::string>& outcome,
                                const absl::Status& status) {
  if (status.ok() || absl::IsFailedPrecondition(status)) records_.End(token);
  if (status.ok()) NoteCompleted(lease, ResultOf(token, outcome));
}

void LeaseCalls::NoteCompleted(const LeaseId& lease, const v1::LeaseResult& result) {
  records_.Completed(lease, result, stream_.limits().max_payload_bytes());
}

absl::Status LeaseCalls::NotHeld(const LeaseId& lease, uint64_t token) const {
  return absl::FailedPreconditionError(absl::StrCat(
      DescribeLease(lease), " is no longer held by ", lifecycle_.Describe(), " under token ", token,
      ": the coordinator gave it up while this process was away, and another one may hold it now; "
      "what was produced under this token must not be used"));
}

void LeaseCalls::Release(SteadyTime now, const EpochId& epoch, const LeaseId& lease,
                         uint64_t token) {
  const std::optional<uint64_t> request = records_.End(token);
  if (request) Abandon(now, epoch, lease, *request);
}

void LeaseCalls::Abandon(SteadyTime now, const EpochId& epoch, const LeaseId& lease,
                         uint64_t request) {
  PendingCall call = calls_.NewInBackground(now, absl::StrCat("giving up ", DescribeLease(lease)));
  call.epoch = epoch;
  call.outlives_epoch = true;
  call.before_leave = true;
  call.request = [=](SteadyTime) { return MakeAbandon(lease.name, lease.scope, request); };
  calls_.BeginInBackground(std::move(call));
}

void LeaseCalls::DropUnlisted(const v1::Attached& attached) {
  const auto& tokens = attached.standing_tokens();
  records_.KeepOnly(std::set<uint64_t>(tokens.begin(), tokens.end()));
}

}  // namespace muster::internal
