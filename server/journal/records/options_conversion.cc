#include "server/journal/records/options_conversion.h"

namespace muster::journal {
namespace {

constexpr int64_t kNanosPerSecond = 1000000000;

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration out;
  out.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  out.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
  return out;
}

absl::Duration FromProto(const google::protobuf::Duration& in) {
  return absl::Seconds(in.seconds()) + absl::Nanoseconds(in.nanos());
}

// Converts the limits. If core::Limits gets a new field, the bindings fail to compile, as a
// reminder that a replay must know the field too.
Limits ToProto(const core::Limits& limits) {
  const auto& [payload, answer, held, members, waiters, waiters_each, groups, group_ranks, leases,
               leases_each, name] = limits;
  Limits out;
  out.set_max_payload_bytes(payload);
  out.set_max_answer_bytes(answer);
  out.set_max_held_bytes(held);
  out.set_max_members(members);
  out.set_max_waiters(waiters);
  out.set_max_waiters_per_member(waiters_each);
  out.set_max_groups(groups);
  out.set_max_group_ranks(group_ranks);
  out.set_max_leases(leases);
  out.set_max_leases_per_member(leases_each);
  out.set_max_name_bytes(name);
  return out;
}

core::Limits FromProto(const Limits& in) {
  core::Limits out;
  out.max_payload_bytes = in.max_payload_bytes();
  out.max_answer_bytes = in.max_answer_bytes();
  out.max_held_bytes = in.max_held_bytes();
  out.max_members = in.max_members();
  out.max_waiters = in.max_waiters();
  out.max_waiters_per_member = in.max_waiters_per_member();
  out.max_groups = in.max_groups();
  // Journals of older versions lack this field.
  if (in.max_group_ranks() != 0) out.max_group_ranks = in.max_group_ranks();
  out.max_leases = in.max_leases();
  out.max_leases_per_member = in.max_leases_per_member();
  out.max_name_bytes = in.max_name_bytes();
  return out;
}

}  // namespace

google::protobuf::Timestamp ToProto(core::Time time) {
  google::protobuf::Timestamp out;
  out.set_seconds(absl::ToUnixSeconds(time));
  out.set_nanos(
      static_cast<int32_t>((time - absl::FromUnixSeconds(out.seconds())) / absl::Nanoseconds(1)));
  return out;
}

core::Time FromProto(const google::protobuf::Timestamp& in) {
  return absl::FromUnixSeconds(in.seconds()) + absl::Nanoseconds(in.nanos() % kNanosPerSecond);
}

// Converts the options of the store. The bindings guard against new fields, as for Limits.
StoreOptions ToProto(const core::StoreOptions& options) {
  const auto& [key, value, keys, wait_for_copy, young_until] = options;
  StoreOptions out;
  out.set_max_key_bytes(key);
  out.set_max_value_bytes(value);
  out.set_max_keys(keys);
  out.set_answers_wait_for_copy(wait_for_copy);
  if (young_until != absl::InfinitePast()) *out.mutable_young_until() = ToProto(young_until);
  return out;
}

core::StoreOptions FromProto(const StoreOptions& in) {
  core::StoreOptions out;
  out.max_key_bytes = in.max_key_bytes();
  out.max_value_bytes = in.max_value_bytes();
  out.max_keys = in.max_keys();
  out.answers_wait_for_copy = in.answers_wait_for_copy();
  if (in.has_young_until()) out.young_until = FromProto(in.young_until());
  return out;
}

// Converts the options. The bindings guard against new fields, as for Limits.
Options ToProto(const core::Options& options) {
  const auto& [job_id, size, min_size, max_size, restarts, settle, rejoin, grace, recovery, stall,
               wait, limits, store, version, instance, random, wants_inquiry] = options;
  static_cast<void>(random);
  static_cast<void>(wants_inquiry);
  Options out;
  out.set_job_id(job_id);
  out.set_world_size(size);
  out.set_min_world_size(min_size);
  out.set_max_world_size(max_size);
  out.set_max_restarts_total(restarts);
  *out.mutable_settle() = ToProto(settle);
  *out.mutable_rejoin_timeout() = ToProto(rejoin);
  *out.mutable_member_grace() = ToProto(grace);
  *out.mutable_recovery_grace() = ToProto(recovery);
  *out.mutable_stall_warning() = ToProto(stall);
  *out.mutable_default_wait_timeout() = ToProto(wait);
  *out.mutable_limits() = ToProto(limits);
  *out.mutable_store() = ToProto(store);
  out.set_daemon_version(version);
  out.set_instance(instance);
  return out;
}

core::Options FromProto(const Options& in) {
  core::Options out;
  out.job_id = in.job_id();
  out.world_size = in.world_size();
  out.min_world_size = in.min_world_size();
  out.max_world_size = in.max_world_size();
  out.max_restarts_total = in.max_restarts_total();
  out.settle = FromProto(in.settle());
  out.rejoin_timeout = FromProto(in.rejoin_timeout());
  out.member_grace = FromProto(in.member_grace());
  out.recovery_grace = FromProto(in.recovery_grace());
  out.stall_warning = FromProto(in.stall_warning());
  out.default_wait_timeout = FromProto(in.default_wait_timeout());
  out.limits = FromProto(in.limits());
  if (in.has_store()) out.store = FromProto(in.store());
  out.daemon_version = in.daemon_version();
  out.instance = in.instance();
  return out;
}

}  // namespace muster::journal
