#include "client/src/base/outcome.h"

#include "absl/status/status.h"

namespace muster::internal {
namespace {

constexpr int kLastCode = static_cast<int>(absl::StatusCode::kUnauthenticated);

}  // namespace

std::string PackOutcome(const absl::StatusOr<std::string>& outcome) {
  std::string bytes(1, static_cast<char>(outcome.status().code()));
  bytes.append(outcome.ok() ? *outcome : std::string(outcome.status().message()));
  return bytes;
}

absl::StatusOr<std::string> UnpackOutcome(absl::string_view bytes) {
  if (bytes.empty() || bytes[0] < 0 || bytes[0] > kLastCode) {
    return absl::InvalidArgumentError("the bytes are not the outcome of work");
  }
  const auto code = static_cast<absl::StatusCode>(bytes[0]);
  bytes.remove_prefix(1);
  if (code != absl::StatusCode::kOk) return absl::Status(code, bytes);
  return std::string(bytes);
}

}  // namespace muster::internal
