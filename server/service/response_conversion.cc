#include "server/service/response_conversion.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"

namespace muster::service {

void ToProto(absl::Duration in, google::protobuf::Duration* out) {
  out->set_seconds(absl::IDivDuration(in, absl::Seconds(1), &in));
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(in)));
}

namespace {

void Fill(const core::EpochId& in, v1::EpochId* out) {
  out->set_number(in.number);
  out->set_nonce(in.nonce);
}

void Fill(const core::MemberIdentity& in, v1::MemberIdentity* out) {
  out->set_incarnation(in.incarnation);
  out->set_start_time_micros(in.start_time_micros);
  out->set_node_id(in.node_id);
  out->set_hostname(in.hostname);
  out->set_pid(in.pid);
}

void Fill(const core::RosterEntry& in, v1::RosterEntry* out) {
  Fill(in.member, out->mutable_member());
  out->set_local_rank(in.local_rank);
  out->set_node_rank(in.node_rank);
}

void Fill(const core::Failure& in, core::Time now, v1::Failure* out) {
  if (in.rank.has_value()) out->set_rank(*in.rank);
  Fill(in.member, out->mutable_member());
  out->set_cause(in.cause);
  ToProto(now - in.when, out->mutable_age());
}

void Fill(const core::LeaseResult& in, v1::LeaseResult* out) {
  out->set_token(in.token);
  if (in.error.ok()) {
    out->set_value(*in.value);
    return;
  }
  out->mutable_error()->set_code(static_cast<uint32_t>(in.error.code()));
  out->mutable_error()->set_message(std::string(in.error.message()));
}

v1::LeaseScope Convert(core::LeaseScope scope) {
  return scope == core::LeaseScope::kJob ? v1::LEASE_SCOPE_JOB : v1::LEASE_SCOPE_NODE;
}

v1::JobState Convert(core::JobState state) {
  switch (state) {
    case core::JobState::kForming:
      return v1::JOB_STATE_FORMING;
    case core::JobState::kRunning:
      return v1::JOB_STATE_RUNNING;
    case core::JobState::kFailed:
      return v1::JOB_STATE_FAILED;
    case core::JobState::kFinished:
      return v1::JOB_STATE_FINISHED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::MemberState Convert(core::MemberState state) {
  switch (state) {
    case core::MemberState::kAttached:
      return v1::MEMBER_STATE_ATTACHED;
    case core::MemberState::kJoining:
      return v1::MEMBER_STATE_JOINING;
    case core::MemberState::kRunning:
      return v1::MEMBER_STATE_RUNNING;
    case core::MemberState::kDetached:
      return v1::MEMBER_STATE_DETACHED;
    case core::MemberState::kLeaving:
      return v1::MEMBER_STATE_LEAVING;
    case core::MemberState::kLeft:
      return v1::MEMBER_STATE_LEFT;
    case core::MemberState::kLost:
      return v1::MEMBER_STATE_LOST;
  }
  return v1::MEMBER_STATE_UNSPECIFIED;
}

void Fill(const core::MemberStatus& in, v1::MemberStatus* out) {
  Fill(in.member, out->mutable_member());
  if (in.rank.has_value()) out->set_rank(*in.rank);
  out->set_local_rank(in.local_rank);
  out->set_node_rank(in.node_rank);
  out->set_state(Convert(in.state));
  out->set_last_collective(in.last_collective);
  out->set_waiting_in(in.waiting_in);
  if (!in.waiting_in.empty()) ToProto(in.waiting_for, out->mutable_waiting_for());
  ToProto(in.since_last_call, out->mutable_since_last_call());
}

void Fill(const core::PendingCollective& in, v1::PendingCollective* out) {
  out->set_group(in.group);
  out->set_sequence(in.sequence);
  out->set_operation(in.operation);
  out->mutable_arrived_ranks()->Add(in.arrived.begin(), in.arrived.end());
  out->mutable_missing_ranks()->Add(in.missing.begin(), in.missing.end());
  ToProto(in.age, out->mutable_age());
}

void Fill(const core::LeaseStatus& in, v1::LeaseStatus* out) {
  out->set_name(in.name);
  out->set_scope(Convert(in.scope));
  out->set_node_id(in.node_id);
  if (in.holder.has_value()) {
    Fill(*in.holder, out->mutable_holder());
    ToProto(in.held_for, out->mutable_held_for());
  }
  if (in.holder_rank.has_value()) out->set_holder_rank(*in.holder_rank);
  out->set_token(in.token);
  out->set_completed(in.completed);
  out->set_waiters(in.waiters);
}

const std::vector<core::Bytes>& Payloads(const core::Answer& answer) {
  return *std::get<core::CollectiveAnswer>(answer).payloads;
}

}  // namespace

void ToProto(const core::Answer& answer, v1::JoinResponse* out) {
  const auto& join = std::get<core::JoinAnswer>(answer);
  Fill(join.epoch, out->mutable_epoch());
  out->set_rank(join.rank);
  out->mutable_roster()->Reserve(static_cast<int>(join.roster->size()));
  for (const core::RosterEntry& entry : *join.roster) Fill(entry, out->add_roster());
}

void ToProto(const core::Answer& answer, v1::BroadcastResponse* out) {
  for (const core::Bytes& payload : Payloads(answer)) out->set_payload(*payload);
}

void ToProto(const core::Answer& answer, v1::GatherResponse* out) {
  for (const core::Bytes& payload : Payloads(answer)) out->add_payloads(*payload);
}

void ToProto(const core::Answer& answer, v1::AllGatherResponse* out) {
  for (const core::Bytes& payload : Payloads(answer)) out->add_payloads(*payload);
}

void ToProto(const core::Answer& answer, v1::AcquireLeaseResponse* out) {
  const auto& lease = std::get<core::LeaseAnswer>(answer);
  if (const auto* grant = std::get_if<core::LeaseGrant>(&lease)) {
    out->mutable_granted()->set_token(grant->token);
  } else {
    Fill(std::get<core::LeaseResult>(lease), out->mutable_completed());
  }
}

v1::AttachResponse ToProto(const core::Attached& event, const core::Options& options) {
  v1::AttachResponse response;
  v1::Attached* out = response.mutable_attached();
  out->mutable_session()->set_daemon_instance(event.session.daemon_instance);
  out->mutable_session()->set_counter(event.session.counter);
  out->set_daemon_version(options.daemon_version);
  out->mutable_limits()->set_max_payload_bytes(options.limits.max_payload_bytes);
  out->mutable_limits()->set_max_name_bytes(options.limits.max_name_bytes);
  ToProto(options.member_grace, out->mutable_member_grace());
  return response;
}

v1::AttachResponse ToProto(const core::EpochBroken& event, core::Time now) {
  v1::AttachResponse response;
  v1::EpochBroken* out = response.mutable_epoch_broken();
  Fill(event.epoch, out->mutable_epoch());
  out->set_reason(event.reason);
  for (const core::Failure& failure : event.failures) Fill(failure, now, out->add_failures());
  return response;
}

void ToProto(const core::JobStatus& status, core::Time now, v1::GetStatusResponse* out) {
  out->set_state(Convert(status.state));
  out->set_reason(status.reason);
  if (status.epoch.has_value()) Fill(*status.epoch, out->mutable_epoch());
  out->set_world_size(status.world_size);
  for (const core::MemberStatus& member : status.members) Fill(member, out->add_members());
  for (const core::PendingCollective& pending : status.pending) {
    Fill(pending, out->add_pending_collectives());
  }
  for (const core::LeaseStatus& lease : status.leases) Fill(lease, out->add_leases());
  for (const core::Failure& failure : status.recent_failures) {
    Fill(failure, now, out->add_recent_failures());
  }
}

}  // namespace muster::service
