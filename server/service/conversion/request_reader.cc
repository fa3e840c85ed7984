#include "server/service/conversion/request_reader.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"

namespace muster::service {
namespace {

// The longest wait. A larger value means that the caller mistook the unit.
constexpr absl::Duration kMaxWaitTimeout = absl::Hours(24 * 3650);
constexpr uint32_t kMaxStatusCode = 16;

// The range of google.protobuf.Timestamp: the years 1 to 9999.
constexpr int64_t kFirstSecond = -62135596800;
constexpr int64_t kLastSecond = 253402300799;
constexpr int32_t kNanosPerSecond = 1000000000;

absl::Status ReadWorkError(const v1::WorkError& in, RequestReader& r) {
  r.Require(in.code() >= 1 && in.code() <= kMaxStatusCode, "result.error.code",
            absl::StrCat("is ", in.code(), "; expected a gRPC status code other than OK, 1 to ",
                         kMaxStatusCode));
  return absl::Status(static_cast<absl::StatusCode>(in.code()), in.message());
}

}  // namespace

core::Time ReadTime(const google::protobuf::Timestamp& in, const Field& field, RequestReader& r) {
  if (in.seconds() >= kFirstSecond && in.seconds() <= kLastSecond && in.nanos() >= 0 &&
      in.nanos() < kNanosPerSecond) {
    return absl::FromUnixSeconds(in.seconds()) + absl::Nanoseconds(in.nanos());
  }
  r.Require(
      false, field,
      absl::StrCat("is ", in.seconds(), " seconds and ", in.nanos(),
                   " nanoseconds; expected a time from the year 1 to the year 9999, and 0 to ",
                   kNanosPerSecond - 1, " nanoseconds"));
  return absl::UnixEpoch();
}

core::SessionId Convert(const v1::SessionId& in) {
  return {in.daemon_instance(), in.counter(), in.key()};
}

core::EpochId Convert(const v1::EpochId& in) { return {in.number(), in.nonce()}; }

core::MemberIdentity ReadIdentity(const v1::MemberIdentity& in, absl::string_view field,
                                  RequestReader& r) {
  core::MemberIdentity out;
  out.incarnation = in.incarnation();
  out.start_time_micros = absl::ToUnixMicros(ReadTime(in.start_time(), {field, "start_time"}, r));
  out.node_id = in.node_id();
  out.hostname = in.hostname();
  out.pid = in.pid();
  return out;
}

core::Incarnation ReadSecret(const std::string& in, RequestReader& r) {
  r.Require(in.size() == kProcessSecretBytes, "secret", [&] {
    return absl::StrCat("has ", in.size(), " bytes; expected ", kProcessSecretBytes);
  });
  return IncarnationOf(in);
}

core::GroupName Convert(const v1::Group& in) {
  return {in.name(), {in.ranks().begin(), in.ranks().end()}};
}

core::Bytes Convert(std::string&& in) {
  static const auto* const kNone = new core::Bytes(std::make_shared<const std::string>());
  if (in.empty()) return *kNone;
  // The parser grows a very long string by doubling, so up to half of its capacity may be unused.
  if (in.capacity() / 8 * 7 > in.size()) in.shrink_to_fit();
  return std::make_shared<const std::string>(std::move(in));
}

absl::Duration ReadDuration(const google::protobuf::Duration& in, const Field& field,
                            RequestReader& r) {
  const absl::Duration wait = absl::Seconds(in.seconds()) + absl::Nanoseconds(in.nanos());
  r.Require(wait >= absl::ZeroDuration() && wait <= kMaxWaitTimeout, field, [&] {
    return absl::StrCat("is ", absl::FormatDuration(wait), "; expected 0 to ",
                        absl::FormatDuration(kMaxWaitTimeout), " (10 years)");
  });
  return wait;
}

core::CallContext ReadCall(bool present, const v1::CallContext& in, absl::string_view field,
                           RequestReader& r) {
  r.RequirePresent(present, field);
  r.Require(in.has_session(), {field, "session"},
            "is missing: call Attach first and repeat the session that it names");
  core::CallContext out;
  out.job_id = in.job_id();
  out.session = Convert(in.session());
  out.attempt = in.attempt();
  if (in.has_wait_timeout()) {
    out.wait_timeout = ReadDuration(in.wait_timeout(), {field, "wait_timeout"}, r);
  }
  return out;
}

core::EpochId ReadEpoch(bool present, const v1::EpochId& in, absl::string_view field,
                        RequestReader& r) {
  r.Require(present, field, "is missing: repeat the epoch that Join answered with");
  return Convert(in);
}

core::LeaseScope ReadScope(v1::LeaseScope in, RequestReader& r) {
  r.Require(in == v1::LEASE_SCOPE_NODE || in == v1::LEASE_SCOPE_JOB, "scope", [&] {
    return absl::StrCat("is ", in, "; expected LEASE_SCOPE_NODE (1) or LEASE_SCOPE_JOB (2)");
  });
  return in == v1::LEASE_SCOPE_JOB ? core::LeaseScope::kJob : core::LeaseScope::kNode;
}

core::LeaseResult ReadLeaseResult(v1::LeaseResult&& in, RequestReader& r) {
  r.Require(in.outcome_case() != v1::LeaseResult::OUTCOME_NOT_SET, "result.outcome",
            "is missing; expected a value or an error");
  core::LeaseResult out;
  out.token = in.token();
  if (in.has_error()) out.error = ReadWorkError(in.error(), r);
  out.value = Convert(in.has_value() ? std::move(*in.mutable_value()) : std::string());
  return out;
}

}  // namespace muster::service
