#include "client/src/base/outcome.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"

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

std::string PackStatus(const absl::Status& status) {
  if (status.ok()) return PackOutcome(std::string());
  return PackOutcome(absl::Status(
      status.code(), absl::StrCat(EncodeNote(NoteOf(status)), "\n", status.message())));
}

absl::Status UnpackStatus(absl::string_view bytes) {
  const absl::Status packed = UnpackOutcome(bytes).status();
  const size_t end = packed.message().find('\n');
  if (end == absl::string_view::npos) return packed;  // OK, or INVALID_ARGUMENT of UnpackOutcome()
  return WithNote(absl::Status(packed.code(), packed.message().substr(end + 1)),
                  DecodeNote(packed.message().substr(0, end)));
}

}  // namespace muster::internal
