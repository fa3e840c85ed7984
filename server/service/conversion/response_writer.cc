#include "server/service/conversion/response_writer.h"

#include <cstdint>

namespace muster::service {

void ToProto(absl::Duration in, google::protobuf::Duration* out) {
  out->set_seconds(absl::IDivDuration(in, absl::Seconds(1), &in));
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(in)));
}

void ToProto(absl::Time in, google::protobuf::Timestamp* out) {
  out->set_seconds(absl::ToUnixSeconds(in));  // rounds down, so the rest is not negative
  out->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(in - absl::FromUnixSeconds(out->seconds()))));
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
    case core::MemberState::kStopped:
      return v1::MEMBER_STATE_STOPPED;
    case core::MemberState::kAwaited:
      return v1::MEMBER_STATE_AWAITED;
  }
  return v1::MEMBER_STATE_UNSPECIFIED;
}

void Fill(const core::EpochId& in, v1::EpochId* out) {
  out->set_number(in.number);
  out->set_nonce(in.nonce);
}

void Fill(const core::MemberIdentity& in, v1::MemberIdentity* out) {
  out->set_incarnation(in.incarnation);
  ToProto(absl::FromUnixMicros(in.start_time_micros), out->mutable_start_time());
  out->set_node_id(in.node_id);
  out->set_hostname(in.hostname);
  out->set_pid(in.pid);
}

void Fill(const core::GroupName& in, v1::Group* out) {
  out->set_name(in.name);
  out->mutable_ranks()->Add(in.ranks.begin(), in.ranks.end());
}

void Fill(const core::RosterEntry& in, v1::RosterEntry* out) {
  Fill(in.member, out->mutable_member());
  out->set_local_rank(in.local_rank);
  out->set_node_rank(in.node_rank);
  if (in.previous_rank.has_value()) out->set_previous_rank(*in.previous_rank);
  out->set_topology(in.topology);
}

void Fill(const core::Failure& in, core::Time now, v1::Failure* out) {
  if (in.rank.has_value()) out->set_rank(*in.rank);
  Fill(in.member, out->mutable_member());
  out->set_cause(in.cause);
  ToProto(now - in.when, out->mutable_age());
  out->set_activity(in.activity);
}

}  // namespace muster::service
