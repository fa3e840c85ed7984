#include "server/core/options.h"

#include "absl/strings/str_cat.h"

namespace muster::core {
namespace {

constexpr uint32_t kMaxJobIdBytes = 256;

bool IsControl(unsigned char c) { return c < 0x20 || c == 0x7f; }

absl::Status MustBePositive(absl::string_view flag, uint64_t value) {
  if (value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(flag, " must be at least 1"));
}

absl::Status AtMostADay(absl::string_view flag, absl::Duration value) {
  if (value >= absl::ZeroDuration() && value <= absl::Hours(24)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " must be from 0s to 24h, not ", absl::FormatDuration(value)));
}

}  // namespace

absl::Status ValidateName(absl::string_view what, absl::string_view name, uint32_t max_bytes) {
  if (name.empty()) return absl::InvalidArgumentError(absl::StrCat(what, " is empty"));
  if (name.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", name.size(), " bytes; at most ", max_bytes, " are allowed"));
  }
  for (size_t i = 0; i < name.size(); ++i) {
    if (IsControl(name[i])) {
      return absl::InvalidArgumentError(absl::StrCat(what, " has a control character (byte 0x",
                                                     absl::Hex(name[i], absl::kZeroPad2),
                                                     ") at position ", i, "; use printable text"));
    }
  }
  return absl::OkStatus();
}

absl::Status Options::Validate() const {
  if (absl::Status s = ValidateName("--job", job_id, kMaxJobIdBytes); !s.ok()) return s;
  if (world_size > limits.max_members) {
    return absl::InvalidArgumentError(
        absl::StrCat("--world-size ", world_size, " is over --max-members ", limits.max_members));
  }
  if (absl::Status s = AtMostADay("--member-grace", member_grace); !s.ok()) return s;
  if (absl::Status s = AtMostADay("--recovery-grace", recovery_grace); !s.ok()) return s;
  if (default_wait_timeout <= absl::ZeroDuration() ||
      default_wait_timeout == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--default-wait-timeout must be positive and finite, not ",
                     absl::FormatDuration(default_wait_timeout)));
  }
  const std::pair<absl::string_view, uint64_t> bounds[] = {
      {"--max-payload-bytes", limits.max_payload_bytes},
      {"--max-held-bytes", limits.max_held_bytes},
      {"--max-members", limits.max_members},
      {"--max-waiters", limits.max_waiters},
      {"--max-groups", limits.max_groups},
      {"--max-leases", limits.max_leases},
      {"--max-name-bytes", limits.max_name_bytes}};
  for (const auto& [flag, value] : bounds) {
    if (absl::Status s = MustBePositive(flag, value); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace muster::core
