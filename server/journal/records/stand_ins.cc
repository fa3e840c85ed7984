#include "server/journal/records/stand_ins.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::journal {
namespace {

// Shorter payloads are numbered. A fingerprint cut to so few bytes would make too many different
// payloads equal.
constexpr uint64_t kSmall = 3;

}  // namespace

absl::StatusOr<std::string> StandIns::For(const PayloadMark& mark) {
  if (mark.size > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a payload of ", mark.size, " bytes is larger than a replay can stand for"));
  }
  uint64_t content = mark.fingerprint;
  if (mark.size > 0 && mark.size < kSmall) {
    content = small_.emplace(std::make_pair(mark.size, content), small_.size()).first->second;
  }
  std::string bytes(mark.size, '\0');
  for (uint64_t i = 0; i < std::min<uint64_t>(mark.size, sizeof(content)); ++i) {
    bytes[i] = static_cast<char>(content >> 8 * i);
  }
  return bytes;
}

}  // namespace muster::journal
