#include "server/service/request_conversion.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::service {
namespace {

// No job waits longer; a larger value is a unit mistaken for another.
constexpr absl::Duration kMaxWaitTimeout = absl::Hours(24 * 3650);
constexpr uint32_t kMaxStatusCode = 16;
constexpr int32_t kMaxSignal = 64;

// Collects the first problem of one request while its fields are read.
class Reader {
 public:
  explicit Reader(absl::string_view message) : message_(message) {}

  void Require(bool condition, absl::string_view field, absl::string_view problem) {
    if (condition || !status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat(message_, ".", field, " ", problem));
  }

  void RequirePresent(bool present, absl::string_view field) {
    Require(present, field, "is missing");
  }

  template <typename T>
  absl::StatusOr<T> Result(T value) const {
    if (!status_.ok()) return status_;
    return value;
  }

 private:
  const absl::string_view message_;
  absl::Status status_;
};

core::EpochId Convert(const v1::EpochId& in) { return {in.number(), in.nonce()}; }

core::SessionId Convert(const v1::SessionId& in) { return {in.daemon_instance(), in.counter()}; }

core::MemberIdentity Convert(const v1::MemberIdentity& in) {
  core::MemberIdentity out;
  out.incarnation = in.incarnation();
  out.start_time_micros = in.start_time_micros();
  out.node_id = in.node_id();
  out.hostname = in.hostname();
  out.pid = in.pid();
  return out;
}

core::Bytes Convert(const std::string& in) { return std::make_shared<const std::string>(in); }

absl::Duration ReadWait(const google::protobuf::Duration& in, absl::string_view field, Reader& r) {
  const absl::Duration wait = absl::Seconds(in.seconds()) + absl::Nanoseconds(in.nanos());
  r.Require(wait >= absl::ZeroDuration() && wait <= kMaxWaitTimeout, field,
            absl::StrCat("is ", absl::FormatDuration(wait), "; expected 0 to ",
                         absl::FormatDuration(kMaxWaitTimeout), " (10 years)"));
  return wait;
}

core::CallContext ReadCall(bool present, const v1::CallContext& in, absl::string_view field,
                           Reader& r) {
  r.RequirePresent(present, field);
  r.Require(in.has_session(), absl::StrCat(field, ".session"),
            "is missing: call Attach first and repeat the session that it names");
  core::CallContext out;
  out.job_id = in.job_id();
  out.session = Convert(in.session());
  out.attempt = in.attempt();
  if (in.has_wait_timeout()) {
    out.wait_timeout = ReadWait(in.wait_timeout(), absl::StrCat(field, ".wait_timeout"), r);
  }
  return out;
}

core::EpochId ReadEpoch(bool present, const v1::EpochId& in, absl::string_view field, Reader& r) {
  r.Require(present, field, "is missing: repeat the epoch that Join answered with");
  return Convert(in);
}

core::LeaseScope ReadScope(v1::LeaseScope in, Reader& r) {
  r.Require(in == v1::LEASE_SCOPE_NODE || in == v1::LEASE_SCOPE_JOB, "scope",
            absl::StrCat("is ", in, "; expected LEASE_SCOPE_NODE (1) or LEASE_SCOPE_JOB (2)"));
  return in == v1::LEASE_SCOPE_JOB ? core::LeaseScope::kJob : core::LeaseScope::kNode;
}

absl::Status ReadWorkError(const v1::WorkError& in, Reader& r) {
  r.Require(in.code() >= 1 && in.code() <= kMaxStatusCode, "result.error.code",
            absl::StrCat("is ", in.code(), "; expected a gRPC status code other than OK, 1 to ",
                         kMaxStatusCode));
  return absl::Status(static_cast<absl::StatusCode>(in.code()), in.message());
}

core::LeaseResult ReadLeaseResult(const v1::LeaseResult& in, Reader& r) {
  r.Require(in.outcome_case() != v1::LeaseResult::OUTCOME_NOT_SET, "result.outcome",
            "is missing; expected a value or an error");
  core::LeaseResult out;
  out.token = in.token();
  if (in.has_error()) out.error = ReadWorkError(in.error(), r);
  out.value = Convert(in.value());
  return out;
}

// The part that all four kinds share. Requests differ by type, not by a common base.
template <typename Request>
core::CollectiveRequest ReadCollective(core::CollectiveKind kind, const Request& in, Reader& r) {
  const v1::CollectiveContext& context = in.context();
  r.RequirePresent(in.has_context(), "context");
  core::CollectiveRequest out;
  out.call = ReadCall(context.has_call(), context.call(), "context.call", r);
  out.epoch = ReadEpoch(context.has_epoch(), context.epoch(), "context.epoch", r);
  out.group = context.group().name();
  out.ranks.assign(context.group().ranks().begin(), context.group().ranks().end());
  out.sequence = context.sequence();
  out.kind = kind;
  out.label = context.label();
  out.type_name = context.type_name();
  out.payload = Convert(std::string());
  return out;
}

}  // namespace

absl::StatusOr<core::AttachRequest> FromProto(const v1::AttachRequest& in) {
  Reader r("AttachRequest");
  r.RequirePresent(in.has_member(), "member");
  core::AttachRequest out;
  out.job_id = in.job_id();
  out.member = Convert(in.member());
  out.protocol_version = in.protocol_version();
  out.sdk_version = in.sdk_version();
  if (in.has_epoch()) out.epoch = Convert(in.epoch());
  out.attempt = in.attempt();
  return r.Result(std::move(out));
}

absl::StatusOr<core::JoinRequest> FromProto(const v1::JoinRequest& in) {
  Reader r("JoinRequest");
  core::JoinRequest out;
  out.call = ReadCall(in.has_context(), in.context(), "context", r);
  out.world_size = in.world_size();
  if (in.has_rank()) out.rank = in.rank();
  if (in.has_local_rank()) out.local_rank = in.local_rank();
  if (in.has_node_rank()) out.node_rank = in.node_rank();
  out.topology = in.topology();
  return r.Result(std::move(out));
}

absl::StatusOr<core::CollectiveRequest> FromProto(const v1::BarrierRequest& in) {
  Reader r("BarrierRequest");
  return r.Result(ReadCollective(core::CollectiveKind::kBarrier, in, r));
}

absl::StatusOr<core::CollectiveRequest> FromProto(const v1::BroadcastRequest& in) {
  Reader r("BroadcastRequest");
  core::CollectiveRequest out = ReadCollective(core::CollectiveKind::kBroadcast, in, r);
  out.root = in.root();
  out.payload = Convert(in.payload());
  return r.Result(std::move(out));
}

absl::StatusOr<core::CollectiveRequest> FromProto(const v1::GatherRequest& in) {
  Reader r("GatherRequest");
  core::CollectiveRequest out = ReadCollective(core::CollectiveKind::kGather, in, r);
  out.root = in.root();
  out.payload = Convert(in.payload());
  return r.Result(std::move(out));
}

absl::StatusOr<core::CollectiveRequest> FromProto(const v1::AllGatherRequest& in) {
  Reader r("AllGatherRequest");
  core::CollectiveRequest out = ReadCollective(core::CollectiveKind::kAllGather, in, r);
  out.payload = Convert(in.payload());
  return r.Result(std::move(out));
}

absl::StatusOr<core::AcquireLeaseRequest> FromProto(const v1::AcquireLeaseRequest& in) {
  Reader r("AcquireLeaseRequest");
  core::AcquireLeaseRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.epoch = ReadEpoch(in.has_epoch(), in.epoch(), "epoch", r);
  out.name = in.name();
  out.scope = ReadScope(in.scope(), r);
  out.request_id = in.request_id();
  return r.Result(std::move(out));
}

absl::StatusOr<core::CompleteLeaseRequest> FromProto(const v1::CompleteLeaseRequest& in) {
  Reader r("CompleteLeaseRequest");
  core::CompleteLeaseRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.name = in.name();
  out.scope = ReadScope(in.scope(), r);
  r.RequirePresent(in.has_result(), "result");
  out.result = ReadLeaseResult(in.result(), r);
  return r.Result(std::move(out));
}

absl::StatusOr<core::AbandonLeaseRequest> FromProto(const v1::AbandonLeaseRequest& in) {
  Reader r("AbandonLeaseRequest");
  core::AbandonLeaseRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.name = in.name();
  out.scope = ReadScope(in.scope(), r);
  out.request_id = in.request_id();
  return r.Result(std::move(out));
}

absl::StatusOr<core::LeaveRequest> FromProto(const v1::LeaveRequest& in) {
  Reader r("LeaveRequest");
  core::LeaveRequest out;
  out.call = ReadCall(in.has_call(), in.call(), "call", r);
  out.epoch = ReadEpoch(in.has_epoch(), in.epoch(), "epoch", r);
  return r.Result(std::move(out));
}

absl::StatusOr<core::ExitReport> FromProto(const v1::ReportExitRequest& in) {
  Reader r("ReportExitRequest");
  r.Require(in.how_case() != v1::ReportExitRequest::HOW_NOT_SET, "how",
            "is missing; expected an exit_code or a signal");
  r.Require(!in.has_signal() || (in.signal() >= 1 && in.signal() <= kMaxSignal), "signal",
            absl::StrCat("is ", in.signal(), "; expected 1 to ", kMaxSignal));
  core::ExitReport out;
  out.job_id = in.job_id();
  out.incarnation = in.incarnation();
  out.signaled = in.has_signal();
  out.code = in.has_signal() ? in.signal() : in.exit_code();
  return r.Result(std::move(out));
}

}  // namespace muster::service
