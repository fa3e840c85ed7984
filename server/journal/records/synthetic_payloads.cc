#include "server/journal/records/synthetic_payloads.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::journal {
namespace {

// Shorter payloads are numbered. A fingerprint cut to so few bytes would make too many different
// payloads equal.
constexpr uint64_t kMinFingerprintBytes = 3;

}  // namespace

absl::StatusOr<std::string> SyntheticPayloads::For(const PayloadSummary& summary) {
  if (summary.size > max_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a payload of ", summary.size, " bytes is larger than a replay can stand for"));
  }
  uint64_t content = summary.fingerprint;
  if (summary.size > 0 && summary.size < kMinFingerprintBytes) {
    content = small_.emplace(std::make_pair(summary.size, content), small_.size()).first->second;
  }
  std::string bytes(summary.size, '\0');
  for (uint64_t i = 0; i < std::min<uint64_t>(summary.size, sizeof(content)); ++i) {
    bytes[i] = static_cast<char>(content >> 8 * i);
  }
  return bytes;
}

}  // namespace muster::journal
