#include "server/service/reader.h"

#include <memory>

namespace muster::service {
namespace {

// No job waits longer; a larger value is a unit mistaken for another.
constexpr absl::Duration kMaxWaitTimeout = absl::Hours(24 * 3650);
constexpr uint32_t kMaxStatusCode = 16;

core::SessionId Convert(const v1::SessionId& in) { return {in.daemon_instance(), in.counter()}; }

absl::Status ReadWorkError(const v1::WorkError& in, Reader& r) {
  r.Require(in.code() >= 1 && in.code() <= kMaxStatusCode, "result.error.code",
            absl::StrCat("is ", in.code(), "; expected a gRPC status code other than OK, 1 to ",
                         kMaxStatusCode));
  return absl::Status(static_cast<absl::StatusCode>(in.code()), in.message());
}

}  // namespace

core::EpochId Convert(const v1::EpochId& in) { return {in.number(), in.nonce()}; }

core::MemberIdentity Convert(const v1::MemberIdentity& in) {
  core::MemberIdentity out;
  out.incarnation = in.incarnation();
  out.start_time_micros = in.start_time_micros();
  out.node_id = in.node_id();
  out.hostname = in.hostname();
  out.pid = in.pid();
  return out;
}

core::GroupName Convert(const v1::Group& in) {
  return {in.name(), {in.ranks().begin(), in.ranks().end()}};
}

core::Bytes Convert(const std::string& in) { return std::make_shared<const std::string>(in); }

absl::Duration ReadDuration(const google::protobuf::Duration& in, absl::string_view field,
                            Reader& r) {
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
    out.wait_timeout = ReadDuration(in.wait_timeout(), absl::StrCat(field, ".wait_timeout"), r);
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

core::LeaseResult ReadLeaseResult(const v1::LeaseResult& in, Reader& r) {
  r.Require(in.outcome_case() != v1::LeaseResult::OUTCOME_NOT_SET, "result.outcome",
            "is missing; expected a value or an error");
  core::LeaseResult out;
  out.token = in.token();
  if (in.has_error()) out.error = ReadWorkError(in.error(), r);
  out.value = Convert(in.value());
  return out;
}

}  // namespace muster::service
