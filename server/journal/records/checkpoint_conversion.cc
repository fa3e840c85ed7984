#include "server/journal/records/checkpoint_conversion.h"

#include <memory>
#include <string>
#include <utility>

#include "server/journal/records/options_conversion.h"

namespace muster::journal {
namespace {

Member ToProto(const core::Checkpoint::Member& in) {
  const core::MemberIdentity& identity = in.place.member;
  Member out;
  out.set_incarnation(identity.incarnation);
  *out.mutable_start_time() = journal::ToProto(absl::FromUnixMicros(identity.start_time_micros));
  out.set_node_id(identity.node_id);
  out.set_hostname(identity.hostname);
  out.set_pid(identity.pid);
  out.set_local_rank(in.place.local_rank);
  out.set_node_rank(in.place.node_rank);
  if (in.place.previous_rank) out.set_previous_rank(*in.place.previous_rank);
  out.set_topology(in.place.topology);
  out.set_session(in.session);
  out.set_session_key(in.session_key);
  out.set_stream(in.stream);
  out.set_attach_attempt(in.attach_attempt);
  out.set_join_attempt(in.join_attempt);
  out.set_cpus(in.cpus);
  out.set_commits_on_node(in.commits_on_node);
  return out;
}

core::Checkpoint::Member FromProto(const Member& in) {
  core::Checkpoint::Member out;
  core::MemberIdentity& identity = out.place.member;
  identity.incarnation = in.incarnation();
  identity.start_time_micros = absl::ToUnixMicros(journal::FromProto(in.start_time()));
  identity.node_id = in.node_id();
  identity.hostname = in.hostname();
  identity.pid = in.pid();
  out.place.local_rank = in.local_rank();
  out.place.node_rank = in.node_rank();
  if (in.has_previous_rank()) out.place.previous_rank = in.previous_rank();
  out.place.topology = in.topology();
  out.session = in.session();
  out.session_key = in.session_key();
  out.stream = in.stream();
  out.attach_attempt = in.attach_attempt();
  out.join_attempt = in.join_attempt();
  out.cpus = in.cpus();
  out.commits_on_node = in.commits_on_node();
  return out;
}

Group ToProto(const core::Checkpoint::Group& in) {
  Group out;
  out.set_name(in.name.name);
  out.mutable_ranks()->Add(in.name.ranks.begin(), in.name.ranks.end());
  out.set_next_sequence(in.next_sequence);
  out.set_finished(in.finished);
  out.mutable_heard()->Add(in.heard.begin(), in.heard.end());
  out.mutable_released()->Add(in.released.begin(), in.released.end());
  return out;
}

core::Checkpoint::Group FromProto(const Group& in) {
  return {{in.name(), {in.ranks().begin(), in.ranks().end()}},
          in.next_sequence(),
          in.finished(),
          {in.heard().begin(), in.heard().end()},
          {in.released().begin(), in.released().end()}};
}

ClaimedGroup ToProto(const core::Checkpoint::Claimed& in) {
  ClaimedGroup out;
  out.set_rank(in.rank);
  out.set_digest(in.group.digest);
  out.set_next_sequence(in.group.next_sequence);
  out.set_finished(in.group.finished);
  out.set_released(in.group.released);
  out.set_closed(in.group.closed);
  return out;
}

core::Checkpoint::Claimed FromProto(const ClaimedGroup& in) {
  return {in.rank(), {in.digest(), in.next_sequence(), in.finished(), in.released(), in.closed()}};
}

Lease ToProto(const core::Checkpoint::Lease& in, CachedValueHasher* hasher) {
  Lease out;
  out.set_name(in.key.name);
  out.set_node_id(in.key.node_id);
  out.set_of_job(in.key.scope == core::LeaseScope::kJob);
  out.set_member(in.member);
  out.set_token(in.token);
  out.set_request_id(in.request_id);
  if (!in.result) return out;
  out.set_completed(true);
  out.mutable_value()->set_size_bytes(in.result->value->size());
  out.mutable_value()->set_fingerprint(hasher->Hash(in.result->value));
  out.set_error_code(static_cast<uint32_t>(in.result->error.code()));
  out.set_error_message(std::string(in.result->error.message()));
  return out;
}

absl::StatusOr<core::Checkpoint::Lease> FromProto(const Lease& in, SyntheticPayloads* synthetic) {
  core::Checkpoint::Lease out;
  out.key = {in.of_job() ? core::LeaseScope::kJob : core::LeaseScope::kNode, in.node_id(),
             in.name()};
  out.member = in.member();
  out.token = in.token();
  out.request_id = in.request_id();
  if (!in.completed()) return out;
  absl::StatusOr<std::string> value =
      synthetic->For({in.value().size_bytes(), in.value().fingerprint()});
  if (!value.ok()) return value.status();
  const auto code = static_cast<absl::StatusCode>(in.error_code());
  out.result = core::LeaseResult{in.token(), absl::Status(code, in.error_message()),
                                 std::make_shared<const std::string>(*std::move(value))};
  return out;
}

}  // namespace

uint64_t CachedValueHasher::Hash(const core::Bytes& value) {
  const auto known = previous_.find(value);
  if (known == previous_.end()) return latest_[value] = hasher_.Hash(*value);
  return latest_.insert(previous_.extract(known)).position->second;
}

void CachedValueHasher::BeginCheckpoint() {
  previous_ = std::move(latest_);
  latest_.clear();
}

State ToProto(const core::Checkpoint& checkpoint, CachedValueHasher* hasher) {
  hasher->BeginCheckpoint();
  State out;
  out.set_epoch_number(checkpoint.epoch.number);
  out.set_epoch_nonce(checkpoint.epoch.nonce);
  for (const auto& member : checkpoint.members) *out.add_members() = ToProto(member);
  for (const auto& group : checkpoint.groups) *out.add_groups() = ToProto(group);
  for (const auto& group : checkpoint.claimed_groups) *out.add_claimed_groups() = ToProto(group);
  for (const auto& lease : checkpoint.leases) *out.add_leases() = ToProto(lease, hasher);
  out.set_highest_epoch_number(checkpoint.highest_epoch);
  out.set_highest_token(checkpoint.highest_token);
  out.set_last_session(checkpoint.last_session);
  out.set_replacements(checkpoint.history.replacements);
  out.set_largest_world_size(checkpoint.history.largest_world_size);
  out.set_stop_asked(checkpoint.stop_asked);
  return out;
}

absl::StatusOr<core::Checkpoint> FromProto(const State& in, SyntheticPayloads* synthetic) {
  core::Checkpoint out;
  out.epoch = {in.epoch_number(), in.epoch_nonce()};
  for (const Member& member : in.members()) out.members.push_back(FromProto(member));
  for (const Group& group : in.groups()) out.groups.push_back(FromProto(group));
  for (const ClaimedGroup& group : in.claimed_groups()) {
    out.claimed_groups.push_back(FromProto(group));
  }
  for (const Lease& lease : in.leases()) {
    absl::StatusOr<core::Checkpoint::Lease> known = FromProto(lease, synthetic);
    if (!known.ok()) return known.status();
    out.leases.push_back(*std::move(known));
  }
  out.highest_epoch = in.highest_epoch_number();
  out.highest_token = in.highest_token();
  out.last_session = in.last_session();
  out.history = {in.replacements(), in.largest_world_size()};
  out.stop_asked = in.stop_asked();
  return out;
}

}  // namespace muster::journal
