#include "server/service/conversion/request_conversion.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/service/conversion/claim_conversion.h"
#include "server/service/conversion/request_reader.h"

namespace muster::service {
namespace {

constexpr int32_t kMaxSignal = 64;
// The most members that a brief status may ask for. No node has more.
constexpr int kMaxIncarnations = 4096;

// Rejects an Attach under another member's name. A stranger may know a member's incarnation, but
// not the secret that it is a hash of.
absl::Status CheckOwner(const core::MemberIdentity& member, const core::Incarnation& owner) {
  if (member.incarnation == owner) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "AttachRequest.secret does not belong to AttachRequest.member.incarnation: only the process "
      "that has the secret may attach as this member; a process that was started anew needs a new "
      "secret and the incarnation made of it");
}

// Reads the part that all kinds of collectives share. Their requests have no common base class.
template <typename Request>
core::CollectiveRequest ReadCollective(core::CollectiveKind kind, Request& in, RequestReader& r) {
  r.RequirePresent(in.has_context(), "context");
  v1::CollectiveContext& context = *in.mutable_context();
  core::CollectiveRequest out;
  out.call = ReadCall(context.has_call(), context.call(), "context.call", r);
  out.epoch = ReadEpoch(context.has_epoch(), context.epoch(), "context.epoch", r);
  out.group = Convert(context.group());
  out.sequence = context.sequence();
  out.refusals = context.refusals();
  out.kind = kind;
  out.label = context.label();
  out.type_name = context.type_name();
  out.call_site = std::move(*context.mutable_call_site());
  if (context.has_payload_size()) out.payload_size = context.payload_size();
  out.payload = Convert(std::string());
  return out;
}

core::CollectiveKind ReadKind(v1::CollectiveKind in, RequestReader& r) {
  switch (in) {
    case v1::COLLECTIVE_KIND_BARRIER:
      return core::CollectiveKind::kBarrier;
    case v1::COLLECTIVE_KIND_BROADCAST:
      return core::CollectiveKind::kBroadcast;
    case v1::COLLECTIVE_KIND_GATHER:
      return core::CollectiveKind::kGather;
    case v1::COLLECTIVE_KIND_ALL_GATHER:
      return core::CollectiveKind::kAllGather;
    default:
      r.Require(false, "kind", absl::StrCat("is ", in, "; expected a COLLECTIVE_KIND, 1 to 4"));
      return core::CollectiveKind::kBarrier;
  }
}

core::ArrivalPart ReadPart(v1::NodeArrival* in, RequestReader& r) {
  r.Require(in->has_session(), "parts.session", "is missing: each part names its member's");
  core::ArrivalPart out;
  out.session = Convert(in->session());
  out.attempt = in->attempt();
  if (in->has_wait_timeout()) {
    out.wait_timeout = ReadDuration(in->wait_timeout(), "parts.wait_timeout", r);
  }
  out.call_site = in->call_site();
  out.payload = Convert(std::move(*in->mutable_payload()));
  return out;
}

core::CommitReport::Commit ReadCommit(v1::NodeCommit* in, RequestReader& r) {
  core::CommitReport::Commit out;
  out.kind = ReadKind(in->kind(), r);
  out.root = in->root();
  out.label = std::move(*in->mutable_label());
  out.type_name = std::move(*in->mutable_type_name());
  if (in->has_payload_bytes()) out.payload_size = in->payload_bytes();
  out.sequence = in->sequence();
  out.delays.reserve(in->delays_size());
  for (const google::protobuf::Duration& delay : in->delays()) {
    out.delays.push_back(ReadDuration(delay, "groups.commits.delays", r));
  }
  return out;
}

core::Fingerprint ReadFingerprint(const v1::Fingerprint& in, RequestReader& r) {
  core::Fingerprint out;
  out.facts = std::make_shared<const core::Facts>(in.facts().begin(), in.facts().end());
  if (in.has_sent_at()) out.clock = ReadTime(in.sent_at(), "fingerprint.sent_at", r);
  if (in.has_free_shared_memory()) out.free_shared_memory = in.free_shared_memory();
  return out;
}

}  // namespace

absl::StatusOr<core::AttachRequest> FromProto(v1::AttachRequest&& in) {
  RequestReader r("AttachRequest");
  r.RequirePresent(in.has_member(), "member");
  core::AttachRequest out;
  out.job_id = in.job_id();
  out.member = ReadIdentity(in.member(), "member", r);
  out.protocol_version = in.protocol_version();
  out.sdk_version = in.sdk_version();
  out.cpus = in.cpus();
  out.attempt = in.attempt();
  out.commits_on_node = in.commits_on_node();
  const core::Incarnation owner = ReadSecret(in.secret(), r);
  if (in.has_claim())
    out.claim = std::make_shared<const core::Claim>(ReadClaim(std::move(*in.mutable_claim()), r));
  absl::StatusOr<core::AttachRequest> read = r.Result(std::move(out));
  if (!read.ok()) return read;
  if (absl::Status s = CheckOwner(read->member, owner); !s.ok()) return s;
  return read;
}

absl::StatusOr<core::JoinRequest> FromProto(v1::JoinRequest&& in) {
  RequestReader r("JoinRequest");
  core::JoinRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.world_size = in.world_size();
  if (in.has_rank()) out.rank = in.rank();
  if (in.has_local_rank()) out.local_rank = in.local_rank();
  if (in.has_node_rank()) out.node_rank = in.node_rank();
  out.topology = in.topology();
  if (in.has_fingerprint()) out.fingerprint = ReadFingerprint(in.fingerprint(), r);
  return r.Result(std::move(out));
}

absl::StatusOr<core::RejoinRequest> FromProto(v1::RejoinRequest&& in) {
  RequestReader r("RejoinRequest");
  core::RejoinRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  r.Require(in.claim().has_epoch(), "claim.epoch",
            "is missing: name the epoch that the caller leaves");
  out.claim = ReadClaim(std::move(*in.mutable_claim()), r);
  return r.Result(std::move(out));
}

absl::StatusOr<core::CollectiveRequest> FromProto(v1::BarrierRequest&& in) {
  RequestReader r("BarrierRequest");
  return r.Result(ReadCollective(core::CollectiveKind::kBarrier, in, r));
}

absl::StatusOr<core::CollectiveRequest> FromProto(v1::BroadcastRequest&& in) {
  RequestReader r("BroadcastRequest");
  core::CollectiveRequest out = ReadCollective(core::CollectiveKind::kBroadcast, in, r);
  out.root = in.root();
  out.payload = Convert(std::move(*in.mutable_payload()));
  return r.Result(std::move(out));
}

absl::StatusOr<core::CollectiveRequest> FromProto(v1::GatherRequest&& in) {
  RequestReader r("GatherRequest");
  core::CollectiveRequest out = ReadCollective(core::CollectiveKind::kGather, in, r);
  out.root = in.root();
  out.payload = Convert(std::move(*in.mutable_payload()));
  return r.Result(std::move(out));
}

absl::StatusOr<core::CollectiveRequest> FromProto(v1::AllGatherRequest&& in) {
  RequestReader r("AllGatherRequest");
  core::CollectiveRequest out = ReadCollective(core::CollectiveKind::kAllGather, in, r);
  out.payload = Convert(std::move(*in.mutable_payload()));
  return r.Result(std::move(out));
}

absl::StatusOr<core::NodeCollectiveRequest> FromProto(v1::NodeCollectiveRequest&& in) {
  RequestReader r("NodeCollectiveRequest");
  core::NodeCollectiveRequest out;
  out.call = ReadCollective(ReadKind(in.kind(), r), in, r);
  out.call.root = in.root();
  out.parts.reserve(in.parts_size());
  for (v1::NodeArrival& part : *in.mutable_parts()) out.parts.push_back(ReadPart(&part, r));
  return r.Result(std::move(out));
}

absl::StatusOr<core::WithdrawRequest> FromProto(v1::WithdrawArrivalRequest&& in) {
  RequestReader r("WithdrawArrivalRequest");
  core::WithdrawRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.epoch = ReadEpoch(in.has_epoch(), in.epoch(), "epoch", r);
  out.group = Convert(in.group());
  out.sequence = in.sequence();
  return r.Result(std::move(out));
}

absl::StatusOr<core::ReleaseRequest> FromProto(v1::ReleaseGroupsRequest&& in) {
  RequestReader r("ReleaseGroupsRequest");
  core::ReleaseRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.epoch = ReadEpoch(in.has_epoch(), in.epoch(), "epoch", r);
  for (const v1::ReleasedGroup& group : in.released()) {
    out.released.push_back({group.digest(), group.next_sequence()});
  }
  out.closed.assign(in.closed().begin(), in.closed().end());
  return r.Result(std::move(out));
}

absl::StatusOr<core::CommitReport> FromProto(v1::ReportCommitsRequest&& in) {
  RequestReader r("ReportCommitsRequest");
  core::CommitReport out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.epoch = ReadEpoch(in.has_epoch(), in.epoch(), "epoch", r);
  for (v1::GroupCommits& group : *in.mutable_groups()) {
    core::CommitReport::Group& read = out.groups.emplace_back();
    read.name = Convert(group.group());
    for (v1::NodeCommit& commit : *group.mutable_commits()) {
      read.commits.push_back(ReadCommit(&commit, r));
    }
  }
  return r.Result(std::move(out));
}

absl::StatusOr<core::AcquireLeaseRequest> FromProto(v1::AcquireLeaseRequest&& in) {
  RequestReader r("AcquireLeaseRequest");
  core::AcquireLeaseRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.epoch = ReadEpoch(in.has_epoch(), in.epoch(), "epoch", r);
  out.name = in.name();
  out.scope = ReadScope(in.scope(), r);
  out.request_id = in.request_id();
  return r.Result(std::move(out));
}

absl::StatusOr<core::CompleteLeaseRequest> FromProto(v1::CompleteLeaseRequest&& in) {
  RequestReader r("CompleteLeaseRequest");
  core::CompleteLeaseRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.name = in.name();
  out.scope = ReadScope(in.scope(), r);
  r.RequirePresent(in.has_result(), "result");
  out.result = ReadLeaseResult(std::move(*in.mutable_result()), r);
  return r.Result(std::move(out));
}

absl::StatusOr<core::AbandonLeaseRequest> FromProto(v1::AbandonLeaseRequest&& in) {
  RequestReader r("AbandonLeaseRequest");
  core::AbandonLeaseRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.name = in.name();
  out.scope = ReadScope(in.scope(), r);
  out.request_id = in.request_id();
  return r.Result(std::move(out));
}

absl::StatusOr<core::LeaveRequest> FromProto(v1::LeaveRequest&& in) {
  RequestReader r("LeaveRequest");
  core::LeaveRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.epoch = ReadEpoch(in.has_epoch(), in.epoch(), "epoch", r);
  return r.Result(std::move(out));
}

absl::StatusOr<core::StopRequest> FromProto(v1::RequestStopRequest&& in) {
  RequestReader r("RequestStopRequest");
  core::StopRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  return r.Result(std::move(out));
}

absl::StatusOr<core::ProcessStateReport> FromProto(v1::ReportProcessStateRequest&& in) {
  RequestReader r("ReportProcessStateRequest");
  r.Require(in.state() == v1::PROCESS_STATE_RUNNING || in.state() == v1::PROCESS_STATE_STOPPED,
            "state",
            absl::StrCat("is ", in.state(),
                         "; expected PROCESS_STATE_RUNNING (1) or PROCESS_STATE_STOPPED (2)"));
  core::ProcessStateReport out;
  out.job_id = in.job_id();
  out.incarnation = ReadSecret(in.secret(), r);
  out.stopped = in.state() == v1::PROCESS_STATE_STOPPED;
  return r.Result(std::move(out));
}

absl::StatusOr<core::ExitReport> FromProto(v1::ReportExitRequest&& in) {
  RequestReader r("ReportExitRequest");
  const bool started = in.how_case() != v1::ReportExitRequest::HOW_NOT_SET;
  r.Require(started || !in.given_up().empty(), "how",
            "is missing; expected an exit_code or a signal");
  r.Require(!in.has_signal() || (in.signal() >= 1 && in.signal() <= kMaxSignal), "signal",
            absl::StrCat("is ", in.signal(), "; expected 1 to ", kMaxSignal));
  core::ExitReport out;
  out.job_id = in.job_id();
  out.incarnation = ReadSecret(in.secret(), r);
  out.signaled = in.has_signal();
  out.code = in.has_signal() ? in.signal() : in.exit_code();
  out.given_up = in.given_up();
  out.started = started;
  out.logged_by_launcher = in.told();
  return r.Result(std::move(out));
}

absl::StatusOr<core::StatusQuery> FromProto(v1::GetStatusRequest&& in) {
  RequestReader r("GetStatusRequest");
  r.Require(!in.brief() || in.incarnations_size() <= kMaxIncarnations, "incarnations",
            absl::StrCat("has ", in.incarnations_size(), " entries; expected at most ",
                         kMaxIncarnations));
  core::StatusQuery out;
  out.job_id = in.job_id();
  out.brief = in.brief();
  out.members.assign(in.incarnations().begin(), in.incarnations().end());
  out.with_timeline = in.with_timeline();
  out.with_completed_leases = in.with_completed_leases();
  return r.Result(std::move(out));
}

}  // namespace muster::service
