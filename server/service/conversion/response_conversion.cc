#include "server/service/conversion/response_conversion.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>

#include "server/core/api/describe.h"
#include "server/service/conversion/response_writer.h"

namespace muster::service {

namespace {

// The most waits in the store that a status lists, the longest first.
constexpr size_t kMostStoreWaits = 100;

// The overloads below hide these.
using service::Convert;
using service::Fill;

void FillError(const core::LeaseResult& in, v1::LeaseResult* out) {
  out->set_token(in.token);
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
    case core::JobState::kRecovering:
      return v1::JOB_STATE_RECOVERING;
    case core::JobState::kReforming:
      return v1::JOB_STATE_REFORMING;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::Severity Convert(core::Severity severity) {
  switch (severity) {
    case core::Severity::kDebug:  // never in a timeline
    case core::Severity::kInfo:
      return v1::SEVERITY_INFO;
    case core::Severity::kWarning:
      return v1::SEVERITY_WARNING;
    case core::Severity::kError:
      return v1::SEVERITY_ERROR;
  }
  return v1::SEVERITY_UNSPECIFIED;
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
  out->set_activity(core::DescribeActivity(in));
  out->set_cpus(in.cpus);
}

void Fill(const core::PendingCollective& in, v1::PendingCollective* out) {
  Fill(in.group, out->mutable_group());
  out->set_sequence(in.sequence);
  out->set_operation(in.operation);
  out->mutable_arrived_ranks()->Add(in.arrived.begin(), in.arrived.end());
  out->mutable_missing_ranks()->Add(in.missing.begin(), in.missing.end());
  out->mutable_gave_up_ranks()->Add(in.gave_up.begin(), in.gave_up.end());
  ToProto(in.age, out->mutable_age());
  ToProto(in.since_last_arrival, out->mutable_since_last_arrival());
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

void Fill(const core::StoreWaiters& in, v1::StoreWaiters* out) {
  out->set_what(in.what);
  out->mutable_ranks()->Add(in.ranks.begin(), in.ranks.end());
  for (const std::string& node : in.launcher_nodes) out->add_launcher_nodes(node);
  out->set_others(in.others);
  ToProto(in.age, out->mutable_age());
}

void Fill(const core::Straggler& in, v1::Straggler* out) {
  out->set_rank(in.rank);
  out->set_node_id(in.node_id);
  out->set_operation(in.operation);
  out->set_collectives(in.collectives);
  out->set_last(in.last);
  ToProto(in.median, out->mutable_median());
  ToProto(in.p95, out->mutable_p95());
  ToProto(in.waited_for, out->mutable_waited_for());
}

const core::CollectiveAnswer& Collective(const core::Answer& answer) {
  return std::get<core::CollectiveAnswer>(answer);
}

// Fills in the place that Join and Rejoin answer with.
template <typename Response>
void FillPlace(const core::JoinAnswer& place, Response* out) {
  Fill(place.epoch, out->mutable_epoch());
  out->set_rank(place.rank);
  out->mutable_history()->set_replacements(place.history.replacements);
  out->mutable_history()->set_largest_world_size(place.history.largest_world_size);
  out->set_stop_asked(place.stop_asked);
}

// The field is the same in both responses, so that one encoding serves both.
constexpr int kRosterField = v1::JoinResponse::kRosterFieldNumber;
static_assert(kRosterField == v1::RejoinResponse::kRosterFieldNumber);

MessageChunks EncodeRoster(const core::Answer& answer) {
  MessageChunkWriter writer;
  v1::RosterEntry out;
  for (const core::RosterEntry& entry : *std::get<core::JoinAnswer>(answer).roster) {
    out.Clear();
    Fill(entry, &out);
    writer.AddMessage(kRosterField, out);
  }
  return std::move(writer).Take();
}

// The field is the same in all responses, so that one encoding serves all rpcs.
constexpr int kPayloadsField = v1::AllGatherResponse::kPayloadsFieldNumber;
static_assert(kPayloadsField == v1::BroadcastResponse::kPayloadFieldNumber &&
              kPayloadsField == v1::GatherResponse::kPayloadsFieldNumber &&
              kPayloadsField == v1::NodeCollectiveResponse::kPayloadsFieldNumber);

MessageChunks EncodePayloads(const core::CollectiveAnswer& answer) {
  MessageChunkWriter writer;
  for (const core::Bytes& payload : *answer.payloads) writer.AddBytes(kPayloadsField, payload);
  return std::move(writer).Take();
}

// Returns the result with which leased work was completed; null if the answer is a grant or an
// error.
const core::LeaseResult* SharedValue(const core::Answer& answer) {
  const auto* result = std::get_if<core::LeaseResult>(&std::get<core::LeaseAnswer>(answer));
  return result != nullptr && result->error.ok() ? result : nullptr;
}

}  // namespace

MessageChunks SharedPart(const core::Answer& answer, const v1::JoinResponse&) {
  return EncodeRoster(answer);
}

MessageChunks SharedPart(const core::Answer& answer, const v1::RejoinResponse&) {
  return EncodeRoster(answer);
}

MessageChunks SharedPart(const core::Answer& answer, const v1::BroadcastResponse&) {
  return EncodePayloads(Collective(answer));
}

MessageChunks SharedPart(const core::Answer& answer, const v1::GatherResponse&) {
  return EncodePayloads(Collective(answer));
}

MessageChunks SharedPart(const core::Answer& answer, const v1::AllGatherResponse&) {
  return EncodePayloads(Collective(answer));
}

MessageChunks SharedPart(const core::Answer& answer, const v1::NodeCollectiveResponse&) {
  const auto& node = std::get<core::NodeAnswer>(answer);
  return node.completed.empty() ? MessageChunks() : EncodePayloads(node.answer);
}

MessageChunks SharedPart(const core::Answer& answer, const v1::AcquireLeaseResponse&) {
  const core::LeaseResult* const result = SharedValue(answer);
  if (result == nullptr) return {};
  constexpr int kValue = v1::LeaseResult::kValueFieldNumber;
  v1::LeaseResult rest;
  rest.set_token(result->token);
  MessageChunkWriter writer;
  writer.OpenMessage(v1::AcquireLeaseResponse::kCompletedFieldNumber,
                     rest.ByteSizeLong() + MessageChunkWriter::SizeOfBytes(kValue, result->value));
  writer.AddFields(rest);
  writer.AddBytes(kValue, result->value);
  return std::move(writer).Take();
}

core::EncodingSlot* SlotOf(const core::Answer& answer) {
  if (const auto* place = std::get_if<core::JoinAnswer>(&answer)) return place->encoding.get();
  if (const auto* done = std::get_if<core::CollectiveAnswer>(&answer)) return done->encoding.get();
  if (const auto* node = std::get_if<core::NodeAnswer>(&answer)) return node->answer.encoding.get();
  return nullptr;
}

void ToProto(const core::Answer& answer, v1::JoinResponse* out) {
  FillPlace(std::get<core::JoinAnswer>(answer), out);
}

void ToProto(const core::Answer& answer, v1::RejoinResponse* out) {
  FillPlace(std::get<core::JoinAnswer>(answer), out);
}

void ToProto(const core::Answer& answer, v1::BarrierResponse* out) {
  out->set_stop_requested(Collective(answer).stop_requested);
}

void ToProto(const core::Answer& answer, v1::BroadcastResponse* out) {
  out->set_stop_requested(Collective(answer).stop_requested);
}

void ToProto(const core::Answer& answer, v1::GatherResponse* out) {
  out->set_stop_requested(Collective(answer).stop_requested);
}

void ToProto(const core::Answer& answer, v1::AllGatherResponse* out) {
  out->set_stop_requested(Collective(answer).stop_requested);
}

void ToProto(const core::Answer& answer, v1::NodeCollectiveResponse* out) {
  const auto& node = std::get<core::NodeAnswer>(answer);
  out->set_stop_requested(node.answer.stop_requested);
  out->mutable_completed()->Add(node.completed.begin(), node.completed.end());
  out->set_resend(node.completed.empty());
}

void ToProto(const core::Answer& answer, v1::ReleaseGroupsResponse* out) {
  for (const std::string& digest : std::get<core::ReleaseAnswer>(answer).settled) {
    out->add_settled(digest);
  }
}

void ToProto(const core::Answer& answer, v1::AcquireLeaseResponse* out) {
  const auto& lease = std::get<core::LeaseAnswer>(answer);
  if (const auto* grant = std::get_if<core::LeaseGrant>(&lease)) {
    out->mutable_granted()->set_token(grant->token);
  } else if (SharedValue(answer) == nullptr) {
    FillError(std::get<core::LeaseResult>(lease), out->mutable_completed());
  }
}

void ToProto(const core::Answer& answer, v1::ReportExitResponse* out) {
  const auto* exit = std::get_if<core::ExitAnswer>(&answer);
  if (exit == nullptr) return;
  out->set_without_leave(exit->without_leave);
  out->set_loss(exit->loss);
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
  out->set_min_world_size(status.min_world_size);
  out->set_max_world_size(status.max_world_size);
  out->set_newcomers_waiting(status.newcomers_waiting);
  out->set_stop_requested(status.stop_requested);
  for (const std::string& node : status.node_collective_nodes) out->add_node_collective_nodes(node);
  for (const std::string& mismatch : status.oddities) out->add_oddities(mismatch);
  for (const core::Straggler& straggler : status.stragglers) Fill(straggler, out->add_stragglers());
  const size_t listed = std::min(status.store_waits.size(), kMostStoreWaits);
  for (size_t i = 0; i < listed; ++i) Fill(status.store_waits[i], out->add_store_waits());
  out->set_unlisted_store_waits(static_cast<uint32_t>(status.store_waits.size() - listed));
  if (status.inquiry) ToProto(*status.inquiry, out->mutable_inquiry());
}

void ToProto(const std::vector<core::TimelineEntry>& timeline, core::Time now,
             v1::GetStatusResponse* out) {
  for (const core::TimelineEntry& entry : timeline) {
    v1::TimelineEntry* const out_entry = out->add_timeline();
    ToProto(now - entry.when, out_entry->mutable_ago());
    out_entry->set_severity(Convert(entry.severity));
    out_entry->set_text(entry.text);
  }
}

}  // namespace muster::service
