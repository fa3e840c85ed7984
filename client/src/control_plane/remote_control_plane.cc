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
  member.random = RandomFromDevice();
  return member;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlPlane>> RemoteControlPlane::Join(
    std::unique_ptr<Transport> transport, const JobOptions& options, const Deadline& deadline) {
  const absl::StatusOr<std::shared_ptr<MemberDriver>> driver =
      MemberDriver::Start(MemberOptionsOf(options), std::move(transport));
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
  return std::make_unique<RemoteControlPlane>(options, *driver, std::get<v1::JoinResponse>(*place));
}

RemoteControlPlane::RemoteControlPlane(const JobOptions& options,
                                       std::shared_ptr<MemberDriver> driver,
                                       const v1::JoinResponse& place)
    : options_(options),
      epoch_(EpochOf(place.epoch())),
      rank_(static_cast<int>(place.rank())),
      members_(MembersOf(place)),
      driver_(std::move(driver)),
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

absl::Status RemoteControlPlane::Leave(const CallOptions& options) {
  return CallAndWait(options, &MemberCore::Leave, epoch_).status();
}

absl::StatusOr<std::unique_ptr<ControlPlane>> RemoteControlPlane::Rejoin(
    const CallOptions& options) {
  const absl::StatusOr<Response> place = CallAndWait(options, &MemberCore::Rejoin, epoch_);
  if (!place.ok()) return place.status();
  return std::make_unique<RemoteControlPlane>(options_, driver_,
                                              std::get<v1::JoinResponse>(*place));
}

absl::Status RemoteControlPlane::RequestStop(const CallOptions& options) {
  return CallAndWait(options, &MemberCore::RequestStop, epoch_).status();
}

}  // namespace muster::internal
