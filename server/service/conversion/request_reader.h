#ifndef MUSTER_SERVER_SERVICE_CONVERSION_REQUEST_READER_H_
#define MUSTER_SERVER_SERVICE_CONVERSION_REQUEST_READER_H_

#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/api/types.h"

// Conversions of the parts that the wire's messages share, for request_conversion.cc and
// claim_conversion.cc. A problem with a part is noted in the RequestReader; the returned value is
// then meaningless.
namespace muster::service {

// The name of a field, in two parts that are joined only for an error.
struct Field {
  Field(const char* whole) : name(whole) {}        // NOLINT(google-explicit-constructor)
  Field(absl::string_view whole) : name(whole) {}  // NOLINT(google-explicit-constructor)
  Field(absl::string_view message, absl::string_view field) : parent(message), name(field) {}
  std::string ToString() const { return absl::StrCat(parent, parent.empty() ? "" : ".", name); }

  absl::string_view parent;
  absl::string_view name;
};

// A collector of the first problem of one request, while its fields are read.
class RequestReader {
 public:
  explicit RequestReader(absl::string_view message) : message_(message) {}

  void Require(bool condition, const Field& field, absl::string_view problem) {
    Require(condition, field, [&] { return std::string(problem); });
  }
  // Same, for a text that is expensive to make.
  void Require(bool condition, const Field& field, absl::FunctionRef<std::string()> problem) {
    if (condition || !status_.ok()) return;
    status_ =
        absl::InvalidArgumentError(absl::StrCat(message_, ".", field.ToString(), " ", problem()));
  }

  void RequirePresent(bool present, const Field& field) { Require(present, field, "is missing"); }

  template <typename T>
  absl::StatusOr<T> Result(T&& value) const {
    static_assert(std::is_rvalue_reference_v<T&&>, "what was read is moved out");
    if (!status_.ok()) return status_;
    return std::move(value);  // NOLINT(bugprone-move-forwarding-reference): always an rvalue
  }

 private:
  const absl::string_view message_;
  absl::Status status_;
};

core::EpochId Convert(const v1::EpochId& in);
core::GroupName Convert(const v1::Group& in);
core::Bytes Convert(std::string&& in);

// Returns the incarnation of the process that has this secret.
core::Incarnation ReadSecret(const std::string& in, RequestReader& r);
core::MemberIdentity ReadIdentity(const v1::MemberIdentity& in, absl::string_view field,
                                  RequestReader& r);
// Reads any time that a Timestamp can hold: the years 1 to 9999.
core::Time ReadTime(const google::protobuf::Timestamp& in, const Field& field, RequestReader& r);
// Reads a duration between zero and ten years.
absl::Duration ReadDuration(const google::protobuf::Duration& in, const Field& field,
                            RequestReader& r);
core::SessionId Convert(const v1::SessionId& in);
core::CallContext ReadCall(bool present, const v1::CallContext& in, absl::string_view field,
                           RequestReader& r);
core::EpochId ReadEpoch(bool present, const v1::EpochId& in, absl::string_view field,
                        RequestReader& r);
core::LeaseScope ReadScope(v1::LeaseScope in, RequestReader& r);
core::LeaseResult ReadLeaseResult(v1::LeaseResult&& in, RequestReader& r);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CONVERSION_REQUEST_READER_H_
