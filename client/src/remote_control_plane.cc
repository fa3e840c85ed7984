#include "client/src/remote_control_plane.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/messages.h"

namespace muster::internal {
namespace {

std::string DescribeLease(const std::string& name, LeaseScope scope) {
  return absl::StrCat("lease '", name, "' of the ", scope == LeaseScope::kNode ? "node" : "job");
}

Patience PatienceOf(std::string what, const CallOptions& options) {
  return Patience(std::move(what), *options.timeout, options.cancellation);
}

// Whether a request for a lease may still be waiting, or be granted, at the coordinator.
bool MayBeGranted(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ||
         absl::IsUnavailable(status);
}

absl::StatusOr<v1::JoinResponse> AskForPlace(Connection* connection, const JobOptions& options,
                                             const Patience& patience) {
  int sends = 0;
  absl::StatusOr<Response> reply = connection->Call(MakeJoin(options), patience, &sends);
  if (absl::IsDeadlineExceeded(reply.status())) {
    return absl::DeadlineExceededError(
        absl::StrCat(patience.what, ": waiting for members: ", reply.status().message()));
  }
  if (!reply.ok()) return reply.status();
  v1::JoinResponse place = std::get<v1::JoinResponse>(*std::move(reply));
  if (place.rank() < static_cast<uint32_t>(place.roster_size())) return place;
  return absl::InternalError(absl::StrCat(patience.what, ": the coordinator gave rank ",
                                          place.rank(), " of ", place.roster_size()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlPlane>> RemoteControlPlane::Join(
    std::unique_ptr<Transport> transport, const JobOptions& options, SteadyTime deadline,
    Cancellation* cancellation) {
  ConnectionOptions line;
  line.coordinator = options.coordinator;
  line.job_id = options.job;
  line.identity = NextIdentity(options);
  line.coordinator_timeout = options.coordinator_timeout;
  auto connection = std::make_unique<Connection>(std::move(line), std::move(transport));
  Patience patience(absl::StrCat("joining job '", options.job, "'"), options.timeout, cancellation);
  patience.deadline = deadline;
  if (absl::Status status = connection->AwaitRegistered(patience); !status.ok()) return status;
  const absl::StatusOr<v1::JoinResponse> place = AskForPlace(connection.get(), options, patience);
  if (!place.ok()) return place.status();
  connection->Joined(EpochOf(place->epoch()), place->rank());
  return std::make_unique<RemoteControlPlane>(options, std::move(connection), *place);
}

RemoteControlPlane::RemoteControlPlane(const JobOptions& options,
                                       std::unique_ptr<Connection> connection,
                                       const v1::JoinResponse& place)
    : options_(options),
      epoch_(EpochOf(place.epoch())),
      rank_(static_cast<int>(place.rank())),
      members_(MembersOf(place)),
      connection_(std::move(connection)),
      limits_(connection_->limits()),
      local_address_(connection_->local_address()),
      background_(connection_.get(), options.coordinator_timeout) {}

RemoteControlPlane::~RemoteControlPlane() { connection_->Stop(); }

absl::Status RemoteControlPlane::CheckNotLeaving() {
  std::lock_guard<std::mutex> lock(mutex_);
  return leaving_ ? LeftError(options_.job, rank_) : absl::OkStatus();
}

CollectiveSequence* RemoteControlPlane::SequenceOf(const std::string& group) {
  const std::string words = group.empty() ? "the world" : absl::StrCat("group '", group, "'");
  return &sequences_.try_emplace(group, words).first->second;
}

absl::StatusOr<std::vector<std::string>> RemoteControlPlane::RunCollective(
    const std::string& group, const std::vector<int>& ranks, CollectiveCall call,
    const CallOptions& options) {
  if (absl::Status status = CheckNotLeaving(); !status.ok()) return status;
  if (absl::Status status = health(); !status.ok()) return status;
  std::unique_lock<std::mutex> lock(mutex_);
  CollectiveSequence* const sequence = SequenceOf(group);
  if (absl::Status status = sequence->Begin(std::move(call)); !status.ok()) return status;
  const Patience patience = PatienceOf(sequence->Describe(), options);
  // What the sequence holds of the call does not change before End().
  lock.unlock();
  int sends = 0;
  absl::StatusOr<Response> reply = connection_->Call(
      MakeCollective(epoch_, group, ranks, sequence->number(), sequence->call()), patience, &sends);
  lock.lock();
  sequence->End(reply.status(), sends);
  lock.unlock();
  if (!reply.ok()) return reply.status();
  return PayloadsOf(*std::move(reply));
}

absl::StatusOr<LeaseOutcome> RemoteControlPlane::AcquireLease(const std::string& name,
                                                              LeaseScope scope,
                                                              const CallOptions& options) {
  if (absl::Status status = CheckNotLeaving(); !status.ok()) return status;
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t request = leases_.NewRequest();
  lock.unlock();
  int sends = 0;
  const absl::StatusOr<Response> reply =
      connection_->Call(MakeAcquire(epoch_, name, scope, request),
                        PatienceOf(DescribeLease(name, scope), options), &sends);
  if (!reply.ok()) {
    if (sends > 0 && MayBeGranted(reply.status())) Abandon(name, scope, request);
    return reply.status();
  }
  const auto& answer = std::get<v1::AcquireLeaseResponse>(*reply);
  lock.lock();
  if (answer.has_granted()) {
    leases_.Granted(request, answer.granted().token());
    return LeaseOutcome{true, answer.granted().token(), HeldResult(name)};
  }
  leases_.Saw(answer.completed().token());
  return LeaseOutcome{false, answer.completed().token(), OutcomeOf(answer.completed())};
}

absl::Status RemoteControlPlane::CompleteLease(const std::string& name, LeaseScope scope,
                                               uint64_t token,
                                               const absl::StatusOr<std::string>& outcome) {
  if (absl::Status status = CheckNotLeaving(); !status.ok()) return status;
  const Patience patience(absl::StrCat("completing ", DescribeLease(name, scope)),
                          options_.coordinator_timeout);
  int sends = 0;
  const absl::Status status =
      connection_->Call(MakeComplete(name, scope, token, outcome), patience, &sends).status();
  std::lock_guard<std::mutex> lock(mutex_);
  if (status.ok() || absl::IsFailedPrecondition(status)) leases_.End(token);
  return status;
}

void RemoteControlPlane::ReleaseLease(const std::string& name, LeaseScope scope, uint64_t token) {
  std::optional<uint64_t> request;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    request = leases_.End(token);
  }
  if (request) Abandon(name, scope, *request);
}

void RemoteControlPlane::Abandon(const std::string& name, LeaseScope scope, uint64_t request) {
  background_.Post(absl::StrCat("giving up ", DescribeLease(name, scope)),
                   MakeAbandon(name, scope, request));
}

absl::Status RemoteControlPlane::Leave(const CallOptions& options) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (left_) return absl::OkStatus();
    leaving_ = true;
  }
  if (absl::Status status = SendLeave(options); !status.ok()) return status;
  connection_->Left();
  std::lock_guard<std::mutex> lock(mutex_);
  left_ = true;
  return absl::OkStatus();
}

absl::Status RemoteControlPlane::SendLeave(const CallOptions& options) {
  const Patience patience = PatienceOf(absl::StrCat("leaving job '", options_.job, "'"), options);
  // Leases that were given up must not be held until this process is taken for lost.
  background_.Flush(patience.deadline);
  int sends = 0;
  const absl::Status status = connection_->Call(MakeLeave(epoch_), patience, &sends).status();
  if (!absl::IsAborted(status)) return status;
  // A leaving member needs nothing of a job that broke. Past its deadline, though, it may be the
  // one that the coordinator counts as lost.
  if (SteadyClock::now() < patience.deadline) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat(patience.what, ": timed out after ",
                                                  absl::FormatDuration(patience.timeout), "; ",
                                                  status.message()));
}

}  // namespace muster::internal
