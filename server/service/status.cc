#include "server/service/status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::service {
namespace {

// gRPC's default bound on a call's metadata is 8 KiB, percent-encoding included.
constexpr size_t kMaxEncodedBytes = 7000;

size_t EncodedSize(char c) { return c >= ' ' && c <= '~' && c != '%' ? 1 : 3; }

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Length of the longest prefix of whole UTF-8 characters that fits.
size_t FittingLength(absl::string_view text) {
  size_t encoded = 0;
  size_t length = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!ContinuesCharacter(text[i])) length = i;
    encoded += EncodedSize(text[i]);
    if (encoded > kMaxEncodedBytes) return length;
  }
  return text.size();
}

std::string Fitting(absl::string_view text) {
  const size_t length = FittingLength(text);
  if (length == text.size()) return std::string(text);
  return absl::StrCat(text.substr(0, length), "...");
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), Fitting(status.message()));
}

}  // namespace muster::service
