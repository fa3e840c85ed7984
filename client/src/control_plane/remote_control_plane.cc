#include "client/src/control_plane/remote_control_plane.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/environment/process_fingerprint.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

MemberOptions MemberOptionsOf(const JobOptions& options) {
  MemberOptions member;
  member.coordinator = options.coordinator;
  member.job_id = options.job;
  member.identity = NextIdentity(options);
  member.fingerprint = OwnFingerprint();
  member.coordinator_timeout = options.coordinator_timeout;
  member.node_fanin = options.node_fanin;
  member.node_commits = options.node_commits;
  member.random = RandomFromDevice();
  return member;
}

StoreClientOptions StoreOptionsOf(const MemberOptions& member, uint32_t rank) {
  StoreClientOptions store;
  store.coordinator = member.coordinator;
  store.job_id = member.job_id;
  store.identity = member.identity;
  store.rank = rank;
  store.coordinator_timeout = member.coordinator_timeout;
  store.random = RandomFromDevice();
  return store;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlPlane>> RemoteControlPlane::Join(
    std::unique_ptr<Transport> transport, const JobOptions& options, const Deadline& deadline,
    StoreTransportFactory store_transport) {
  const MemberOptions member = MemberOptionsOf(options);
  const absl::StatusOr<std::shared_ptr<MemberDriver>> driver =
      MemberDriver::Start(member, std::move(transport));
  if (!driver.ok()) {
    return Reworded(driver.status(),
                    absl::StrCat("joining job '", options.job, "' at ", options.coordinator, ": ",
                                 driver.status().message()));
  }
  const absl::StatusOr<Response> place = (*driver)->CallAndWait(
      deadline.cancellation(), [&](MemberCore& member, SteadyTime now, CallId id) {
        return member.Join(now, id, options, deadline);
      });
  if (!place.ok()) return place.status();
  const auto& joined = std::get<v1::JoinResponse>(*place);
  auto store = std::make_shared<RemoteStore>(StoreOptionsOf(member, joined.rank()),
                                             std::move(store_transport));
  return std::make_unique<RemoteControlPlane>(options, *driver, std::move(store), joined);
}

RemoteControlPlane::RemoteControlPlane(const JobOptions& options,
                                       std::shared_ptr<MemberDriver> driver,
                                       std::shared_ptr<RemoteStore> store,
                                       const v1::JoinResponse& place)
    : options_(options),
      epoch_(EpochOf(place.epoch())),
      rank_(static_cast<int>(place.rank())),
      members_(MembersOf(place)),
      driver_(std::move(driver)),
      store_(std::move(store)),
      limits_(driver_->limits()),
      local_address_(driver_->local_address()) {}

RemoteControlPlane::~RemoteControlPlane() {
  if (CheckProcess().ok()) {
    driver_->Forget(epoch_);
  } else {
    // A fork has no thread to join, and must not touch the parent's connection.
    new std::shared_ptr<MemberDriver>(driver_);  // leaked on purpose
  }
}

template <typename Begin, typename... Args>
absl::StatusOr<Response> RemoteControlPlane::CallAndWait(const CallOptions& options, Begin begin,
                                                         Args&&... args) {
  return driver_->CallAndWait(options.cancellation, [&](MemberCore& member, SteadyTime now,
                                                        CallId id) {
    return (member.*begin)(now, id, std::forward<Args>(args)..., Deadline(now, *options.timeout));
  });
}

absl::StatusOr<std::vector<std::string>> RemoteControlPlane::RunCollective(
    const std::string& group, const std::vector<int>& ranks, CollectiveCall call,
    const CallOptions& options) {
  absl::StatusOr<Response> reply =
      CallAndWait(options, &MemberCore::Collective, GroupId{epoch_, group, ranks}, std::move(call));
  if (!reply.ok()) return reply.status();
  return PayloadsOf(*std::move(reply));
}

void RemoteControlPlane::HoldGroup(const std::string& group, const std::vector<int>& ranks) {
  driver_->Run([&](MemberCore& member, SteadyTime) {
    member.Hold({epoch_, group, ranks});
    return Effects();
  });
}

void RemoteControlPlane::DropGroup(const std::string& group, const std::vector<int>& ranks) {
  driver_->Run([&](MemberCore& member, SteadyTime now) {
    return member.Drop(now, {epoch_, group, ranks});
  });
}

absl::StatusOr<LeaseOutcome> RemoteControlPlane::AcquireLease(const std::string& name,
                                                              LeaseScope scope,
                                                              const CallOptions& options) {
  const absl::StatusOr<Response> reply =
      CallAndWait(options, &MemberCore::AcquireLease, epoch_, LeaseId{name, scope});
  if (!reply.ok()) return reply.status();
  const auto& answer = std::get<v1::AcquireLeaseResponse>(*reply);
  if (answer.has_granted()) return LeaseOutcome{true, answer.granted().token(), HeldResult(name)};
  return LeaseOutcome{false, answer.completed().token(), OutcomeOf(answer.completed())};
}

absl::Status RemoteControlPlane::CompleteLease(const std::string& name, LeaseScope scope,
                                               uint64_t token,
                                               const absl::StatusOr<std::string>& outcome) {
  return driver_
      ->CallAndWait(nullptr,
                    [&](MemberCore& member, SteadyTime now, CallId id) {
                      return member.CompleteLease(now, id, epoch_, {name, scope}, token, outcome);
                    })
      .status();
}

void RemoteControlPlane::ReleaseLease(const std::string& name, LeaseScope scope, uint64_t token) {
  driver_->Run([&](MemberCore& member, SteadyTime now) {
    return member.ReleaseLease(now, epoch_, {name, scope}, token);
  });
}

// Goes on holding entries of the store until every member leaves.
absl::Status RemoteControlPlane::Leave(const CallOptions& options) {
  absl::Status left = CallAndWait(options, &MemberCore::Leave, epoch_).status();
  if (left.ok()) store_->Close(LeftError(options_.job, rank_));
  return left;
}

void RemoteControlPlane::Close() {
  store_->Close(
      absl::CancelledError(absl::StrCat("job '", options_.job, "': the Job was destroyed")));
  driver_->Close();
}

absl::StatusOr<std::unique_ptr<ControlPlane>> RemoteControlPlane::Rejoin(
    const CallOptions& options) {
  const absl::StatusOr<Response> place = CallAndWait(options, &MemberCore::Rejoin, epoch_);
  if (!place.ok()) return place.status();
  return std::make_unique<RemoteControlPlane>(options_, driver_, store_,
                                              std::get<v1::JoinResponse>(*place));
}

absl::Status RemoteControlPlane::RequestStop(const CallOptions& options) {
  return CallAndWait(options, &MemberCore::RequestStop, epoch_).status();
}

}  // namespace muster::internal
