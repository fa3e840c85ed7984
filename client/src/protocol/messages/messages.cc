#include "client/src/protocol/messages/messages.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/text/utf8.h"

namespace muster::internal {
namespace {

// The longest error text that travels. A longer one is a log.
constexpr size_t kMaxErrorBytes = 16 << 10;

void SetEpoch(const EpochId& epoch, v1::EpochId* out) {
  out->set_number(epoch.number);
  out->set_nonce(epoch.nonce);
}

template <class R>
auto ContextOf(R* request) -> decltype(request->mutable_call()) {
  return request->mutable_call();
}
template <class R>
auto ContextOf(R* request) -> decltype(request->mutable_context()->mutable_call()) {
  return request->mutable_context()->mutable_call();
}

std::vector<std::string> Strings(google::protobuf::RepeatedPtrField<std::string>* payloads) {
  return std::vector<std::string>(std::make_move_iterator(payloads->begin()),
                                  std::make_move_iterator(payloads->end()));
}

template <class R>
auto StopIn(const R& response, int /*preferred*/) -> decltype(response.stop_requested()) {
  return response.stop_requested();
}
template <class R>
bool StopIn(const R&, long) {
  return false;
}

v1::CollectiveContext CollectiveContextOf(const EpochId& epoch, const std::string& group,
                                          const std::vector<int>& ranks, uint64_t sequence,
                                          uint32_t refusals, const CollectiveCall& call) {
  v1::CollectiveContext context;
  SetEpoch(epoch, context.mutable_epoch());
  SetGroup(group, ranks, context.mutable_group());
  context.set_sequence(sequence);
  context.set_refusals(refusals);
  context.set_label(call.label);
  context.set_type_name(call.type_name);
  if (call.payload_size) context.set_payload_size(*call.payload_size);
  return context;
}

v1::CollectiveKind KindOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kBarrier:
      return v1::COLLECTIVE_KIND_BARRIER;
    case CollectiveKind::kBroadcast:
      return v1::COLLECTIVE_KIND_BROADCAST;
    case CollectiveKind::kGather:
      return v1::COLLECTIVE_KIND_GATHER;
    case CollectiveKind::kAllGather:
      return v1::COLLECTIVE_KIND_ALL_GATHER;
  }
  return v1::COLLECTIVE_KIND_UNSPECIFIED;
}

void SetPart(Contribution part, v1::NodeArrival* out) {
  out->mutable_session()->set_daemon_instance(part.daemon_instance);
  out->mutable_session()->set_counter(part.session_counter);
  out->mutable_session()->set_key(part.session_key);
  out->set_attempt(part.attempt);
  SetDuration(absl::Nanoseconds(part.wait_nanos), out->mutable_wait_timeout());
  out->set_call_site(std::move(part.call_site));
  out->set_payload(std::move(part.payload));
}

size_t BytesOf(const google::protobuf::RepeatedPtrField<std::string>& payloads) {
  size_t bytes = 0;
  for (const std::string& payload : payloads) bytes += payload.size();
  return bytes;
}

}  // namespace

void SetTime(absl::Time time, google::protobuf::Timestamp* out) {
  out->set_seconds(absl::ToUnixSeconds(time));  // rounds down, so the rest is not negative
  const absl::Duration rest = time - absl::FromUnixSeconds(out->seconds());
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

v1::LeaseScope ScopeOf(LeaseScope scope) {
  return scope == LeaseScope::kNode ? v1::LEASE_SCOPE_NODE : v1::LEASE_SCOPE_JOB;
}

void SetDuration(absl::Duration duration, google::protobuf::Duration* out) {
  out->set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
}

absl::Duration DurationOf(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

void SetGroup(const std::string& name, const std::vector<int>& ranks, v1::Group* out) {
  out->set_name(name);
  for (const int rank : ranks) out->add_ranks(rank);
}

void SetIdentity(const Identity& identity, v1::MemberIdentity* out) {
  out->set_incarnation(identity.incarnation);
  SetTime(absl::FromUnixMicros(identity.start_time_micros), out->mutable_start_time());
  out->set_node_id(identity.node_id);
  out->set_hostname(identity.hostname);
  out->set_pid(identity.pid);
}

void FillContext(const std::string& job_id, const Stamp& stamp, absl::Duration wait,
                 Request* request) {
  v1::CallContext* context = std::visit([](auto& r) { return ContextOf(&r); }, *request);
  context->set_job_id(job_id);
  context->mutable_session()->set_daemon_instance(stamp.session.daemon_instance);
  context->mutable_session()->set_counter(stamp.session.counter);
  context->mutable_session()->set_key(stamp.session.key);
  context->set_attempt(stamp.attempt);
  SetDuration(wait, context->mutable_wait_timeout());
}

Request MakeJoin(const JobOptions& options, const ProcessFingerprint& fingerprint) {
  v1::JoinRequest request;
  request.set_world_size(options.world_size.value_or(0));
  if (options.rank) request.set_rank(*options.rank);
  if (options.local_rank) request.set_local_rank(*options.local_rank);
  if (options.node_rank) request.set_node_rank(*options.node_rank);
  request.set_topology(options.topology);
  v1::Fingerprint& message = *request.mutable_fingerprint();
  message.mutable_facts()->insert(fingerprint.facts.begin(), fingerprint.facts.end());
  if (fingerprint.free_shared_memory) {
    message.set_free_shared_memory(*fingerprint.free_shared_memory);
  }
  return request;
}

Request MakeCollective(const EpochId& epoch, const std::string& group,
                       const std::vector<int>& ranks, uint64_t sequence, uint32_t refusals,
                       const CollectiveCall& call) {
  v1::CollectiveContext context =
      CollectiveContextOf(epoch, group, ranks, sequence, refusals, call);
  context.set_call_site(call.call_site);
  switch (call.kind) {
    case CollectiveKind::kBroadcast: {
      v1::BroadcastRequest request;
      *request.mutable_context() = std::move(context);
      request.set_root(call.root);
      request.set_payload(call.payload);
      return request;
    }
    case CollectiveKind::kGather: {
      v1::GatherRequest request;
      *request.mutable_context() = std::move(context);
      request.set_root(call.root);
      request.set_payload(call.payload);
      return request;
    }
    case CollectiveKind::kAllGather: {
      v1::AllGatherRequest request;
      *request.mutable_context() = std::move(context);
      request.set_payload(call.payload);
      return request;
    }
    case CollectiveKind::kBarrier:
      break;
  }
  v1::BarrierRequest request;
  *request.mutable_context() = std::move(context);
  return request;
}

Request MakeNodeCollective(const EpochId& epoch, const std::string& group,
                           const std::vector<int>& ranks, uint64_t sequence, uint32_t refusals,
                           const CollectiveCall& call, const std::vector<TakenPart>& parts) {
  v1::NodeCollectiveRequest request;
  *request.mutable_context() = CollectiveContextOf(epoch, group, ranks, sequence, refusals, call);
  request.set_kind(KindOf(call.kind));
  request.set_root(call.root);
  request.mutable_parts()->Reserve(static_cast<int>(parts.size()));
  for (const TakenPart& part : parts) SetPart(part.contribution, request.add_parts());
  return request;
}

Request MakeWithdraw(const EpochId& epoch, const std::string& group, const std::vector<int>& ranks,
                     uint64_t sequence) {
  v1::WithdrawArrivalRequest request;
  SetEpoch(epoch, request.mutable_epoch());
  SetGroup(group, ranks, request.mutable_group());
  request.set_sequence(sequence);
  return request;
}

Request MakeRelease(const EpochId& epoch) {
  v1::ReleaseGroupsRequest request;
  SetEpoch(epoch, request.mutable_epoch());
  return request;
}

Request MakeCommitReport(const EpochId& epoch) {
  v1::ReportCommitsRequest request;
  SetEpoch(epoch, request.mutable_epoch());
  return request;
}

v1::NodeCommit MakeNodeCommit(uint64_t sequence, const CollectiveCall& call,
                              const std::vector<int>& group_ranks,
                              const std::vector<int>& node_ranks,
                              const std::vector<TakenPart>& parts) {
  v1::NodeCommit commit;
  commit.set_sequence(sequence);
  commit.set_kind(KindOf(call.kind));
  commit.set_root(call.root);
  commit.set_label(call.label);
  commit.set_type_name(call.type_name);
  if (call.payload_size) commit.set_payload_bytes(*call.payload_size);
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const TakenPart& part : parts) first = std::min(first, part.contribution.posted_at);
  std::vector<absl::Duration> delays(group_ranks.size());
  for (const TakenPart& part : parts) {
    const auto rank = std::find(group_ranks.begin(), group_ranks.end(), node_ranks[part.member]);
    delays[rank - group_ranks.begin()] =
        absl::Nanoseconds(part.contribution.posted_at) - absl::Nanoseconds(first);
  }
  // Another process may have written nonsense.
  constexpr absl::Duration kLongest = absl::Hours(24);
  for (const absl::Duration delay : delays) {
    SetDuration(std::min(delay, kLongest), commit.add_delays());
  }
  return commit;
}

Request MakeAcquire(const EpochId& epoch, const std::string& name, LeaseScope scope,
                    uint64_t request_id) {
  v1::AcquireLeaseRequest request;
  SetEpoch(epoch, request.mutable_epoch());
  request.set_name(name);
  request.set_scope(ScopeOf(scope));
  request.set_request_id(request_id);
  return request;
}

Request MakeComplete(const std::string& name, LeaseScope scope, uint64_t token,
                     const absl::StatusOr<std::string>& outcome) {
  v1::CompleteLeaseRequest request;
  request.set_name(name);
  request.set_scope(ScopeOf(scope));
  *request.mutable_result() = ResultOf(token, outcome);
  return request;
}

v1::LeaseResult ResultOf(uint64_t token, const absl::StatusOr<std::string>& outcome) {
  v1::LeaseResult result;
  result.set_token(token);
  if (outcome.ok()) {
    result.set_value(*outcome);
  } else {
    v1::WorkError* const error = result.mutable_error();
    error->set_code(static_cast<uint32_t>(outcome.status().code()));
    error->set_message(ReplaceUnprintable(outcome.status().message().substr(0, kMaxErrorBytes)));
  }
  return result;
}

Request MakeAbandon(const std::string& name, LeaseScope scope, uint64_t request_id) {
  v1::AbandonLeaseRequest request;
  request.set_name(name);
  request.set_scope(ScopeOf(scope));
  request.set_request_id(request_id);
  return request;
}

Request MakeLeave(const EpochId& epoch) {
  v1::LeaveRequest request;
  SetEpoch(epoch, request.mutable_epoch());
  return request;
}

Request MakeRejoin(v1::Claim claim) {
  v1::RejoinRequest request;
  *request.mutable_claim() = std::move(claim);
  return request;
}

v1::JoinResponse PlaceOf(v1::RejoinResponse response) {
  v1::JoinResponse place;
  place.mutable_epoch()->Swap(response.mutable_epoch());
  place.set_rank(response.rank());
  place.mutable_roster()->Swap(response.mutable_roster());
  if (response.has_history()) place.mutable_history()->Swap(response.mutable_history());
  place.set_stop_asked(response.stop_asked());
  return place;
}

bool StopRequestedIn(const Response& response) {
  return std::visit([](const auto& r) { return StopIn(r, 0); }, response);
}

EpochId EpochOf(const v1::EpochId& epoch) { return {epoch.number(), epoch.nonce()}; }

std::vector<Member> MembersOf(const v1::JoinResponse& place) {
  std::vector<Member> members;
  for (const v1::RosterEntry& entry : place.roster()) {
    Member& member = members.emplace_back();
    member.rank = static_cast<int>(members.size()) - 1;
    member.local_rank = static_cast<int>(entry.local_rank());
    member.node_rank = static_cast<int>(entry.node_rank());
    member.node_id = entry.member().node_id();
    member.hostname = entry.member().hostname();
    member.pid = entry.member().pid();
    if (entry.has_previous_rank()) {
      member.previous_rank = static_cast<int>(entry.previous_rank());
    }
    member.topology = entry.topology();
    member.incarnation = entry.member().incarnation();
  }
  return members;
}

std::optional<Delivery> DeliveryOf(const absl::StatusOr<Response>& reply) {
  if (!reply.ok()) return std::nullopt;
  v1::NodeCollectiveResponse answer = std::get<v1::NodeCollectiveResponse>(*reply);
  if (answer.resend() || answer.completed().empty()) return std::nullopt;
  Delivery delivery;
  delivery.completed.assign(answer.completed().begin(), answer.completed().end());
  answer.clear_completed();
  delivery.answer = answer.SerializeAsString();
  return delivery;
}

std::optional<Response> AnswerOf(CollectiveKind kind, bool is_root, const std::string& answer) {
  v1::NodeCollectiveResponse node;
  if (!node.ParseFromString(answer)) return std::nullopt;
  switch (kind) {
    case CollectiveKind::kBarrier: {
      v1::BarrierResponse response;
      response.set_stop_requested(node.stop_requested());
      return response;
    }
    case CollectiveKind::kBroadcast: {
      if (node.payloads_size() != 1) return std::nullopt;
      v1::BroadcastResponse response;
      response.set_stop_requested(node.stop_requested());
      response.mutable_payload()->swap(*node.mutable_payloads(0));
      return response;
    }
    case CollectiveKind::kGather: {
      v1::GatherResponse response;
      response.set_stop_requested(node.stop_requested());
      if (is_root) response.mutable_payloads()->Swap(node.mutable_payloads());
      return response;
    }
    case CollectiveKind::kAllGather: {
      v1::AllGatherResponse response;
      response.set_stop_requested(node.stop_requested());
      response.mutable_payloads()->Swap(node.mutable_payloads());
      return response;
    }
  }
  return std::nullopt;
}

size_t PayloadBytesOf(const Response& response) {
  if (const auto* broadcast = std::get_if<v1::BroadcastResponse>(&response)) {
    return broadcast->payload().size();
  }
  if (const auto* gather = std::get_if<v1::GatherResponse>(&response)) {
    return BytesOf(gather->payloads());
  }
  const auto* all_gather = std::get_if<v1::AllGatherResponse>(&response);
  return all_gather == nullptr ? 0 : BytesOf(all_gather->payloads());
}

std::vector<std::string> PayloadsOf(Response response) {
  if (auto* broadcast = std::get_if<v1::BroadcastResponse>(&response)) {
    return {std::move(*broadcast->mutable_payload())};
  }
  if (auto* gather = std::get_if<v1::GatherResponse>(&response)) {
    return Strings(gather->mutable_payloads());
  }
  if (auto* all_gather = std::get_if<v1::AllGatherResponse>(&response)) {
    return Strings(all_gather->mutable_payloads());
  }
  return {};
}

absl::StatusOr<std::string> OutcomeOf(const v1::LeaseResult& result) {
  if (!result.has_error()) return result.value();
  const auto code = static_cast<absl::StatusCode>(result.error().code());
  if (code == absl::StatusCode::kOk) return absl::UnknownError(result.error().message());
  return absl::Status(code, result.error().message());
}

}  // namespace muster::internal
