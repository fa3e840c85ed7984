#include "server/service/status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/text/utf8.h"

namespace muster::service {
namespace {

// The most bytes of a text. gRPC limits a call's metadata to 8 KiB by default, after
// percent-encoding.
constexpr size_t kMaxEncodedBytes = 7000;

size_t EncodedSize(char c) { return c >= ' ' && c <= '~' && c != '%' ? 1 : 3; }

// Returns the longest prefix of whole characters that fits.
absl::string_view FittingPart(absl::string_view text) {
  size_t encoded = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    encoded += EncodedSize(text[i]);
    if (encoded > kMaxEncodedBytes) return TruncateUtf8(text, i);
  }
  return text;
}

std::string Fitting(absl::string_view text) {
  const absl::string_view part = FittingPart(text);
  return part.size() == text.size() ? std::string(text) : absl::StrCat(part, "...");
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), Fitting(status.message()));
}

}  // namespace muster::service
