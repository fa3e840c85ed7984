#include "server/core/api/options.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/text/utf8.h"

namespace muster::core {
namespace {

constexpr uint32_t kMaxJobIdBytes = 256;

// Describes the first character of `rest`: "a control character (byte 0x0a)" or "a control
// character (U+0085)".
std::string DescribeUnprintable(absl::string_view rest) {
  const auto byte = static_cast<unsigned char>(rest[0]);
  const std::optional<char32_t> c = TakeCodePoint(&rest);
  const std::string hex = absl::StrCat("byte 0x", absl::Hex(byte, absl::kZeroPad2));
  if (!c) return absl::StrCat("something that is not UTF-8 (", hex, ")");
  return absl::StrCat(
      "a control character (",
      byte < 0x80 ? hex : absl::StrCat("U+", absl::Hex(static_cast<uint32_t>(*c), absl::kZeroPad4)),
      ")");
}

absl::Status MustBePositive(absl::string_view flag, uint64_t value) {
  if (value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(flag, " must be at least 1"));
}

absl::Status AtMostADay(absl::string_view flag, absl::Duration value) {
  if (value >= absl::ZeroDuration() && value <= absl::Hours(24)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " must be from 0s to 24h, not ", absl::FormatDuration(value)));
}

// Checks that the largest payload of a Broadcast fits into its answer.
absl::Status CheckAnswer(const Limits& limits) {
  if (limits.max_answer_bytes > kMaxMessageBytes) {
    return absl::InvalidArgumentError(absl::StrCat("--max-answer-bytes ", limits.max_answer_bytes,
                                                   " is over what one message can carry, ",
                                                   kMaxMessageBytes));
  }
  const uint64_t framing = AnswerBytes(0, 1);
  if (limits.max_answer_bytes >= framing &&
      limits.max_payload_bytes <= limits.max_answer_bytes - framing) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--max-payload-bytes ", limits.max_payload_bytes, " is over --max-answer-bytes ",
      limits.max_answer_bytes, " less ", framing, ": an answer must hold at least one payload"));
}

absl::Status CheckElastic(const Options& options) {
  const auto refuse = [](const auto&... text) {
    return absl::InvalidArgumentError(absl::StrCat(text...));
  };
  const uint32_t least = options.min_world_size;
  const uint32_t most = options.max_world_size;
  if (most != 0 && least == 0) {
    return refuse("--max-world-size ", most, " needs --min-world-size, which makes a job elastic");
  }
  if (options.max_restarts_total != 0 && least == 0) {
    return refuse("--max-restarts-total ", options.max_restarts_total,
                  " needs --min-world-size, which makes a job elastic: only an elastic job goes on "
                  "after a loss");
  }
  if (most > options.limits.max_members) {
    return refuse("--max-world-size ", most, " is over --max-members ", options.limits.max_members);
  }
  if (most != 0 && options.world_size != 0 && most != options.world_size) {
    return refuse("--world-size ", options.world_size, " and --max-world-size ", most,
                  " differ; give one of them");
  }
  const uint32_t places = most != 0 ? most : options.world_size;
  if (places != 0 && least > places) {
    return refuse("--min-world-size ", least, " is over the ", places, " members of the job");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateName(absl::string_view what, absl::string_view name, uint32_t max_bytes) {
  if (name.empty()) return absl::InvalidArgumentError(absl::StrCat(what, " is empty"));
  if (name.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", name.size(), " bytes; at most ", max_bytes, " are allowed"));
  }
  const size_t bad = FindUnprintable(name);
  if (bad == absl::string_view::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " has ",
                                                 DescribeUnprintable(name.substr(bad)),
                                                 " at position ", bad, "; use printable text"));
}

absl::Status Options::Validate() const {
  if (absl::Status s = ValidateName("--job", job_id, kMaxJobIdBytes); !s.ok()) return s;
  if (world_size > limits.max_members) {
    return absl::InvalidArgumentError(
        absl::StrCat("--world-size ", world_size, " is over --max-members ", limits.max_members));
  }
  if (absl::Status s = CheckElastic(*this); !s.ok()) return s;
  if (absl::Status s = AtMostADay("--stall-warning", stall_warning); !s.ok()) return s;
  if (absl::Status s = AtMostADay("--settle", settle); !s.ok()) return s;
  if (absl::Status s = AtMostADay("--rejoin-timeout", rejoin_timeout); !s.ok()) return s;
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
      {"--max-waiters-per-member", limits.max_waiters_per_member},
      {"--max-groups", limits.max_groups},
      {"--max-group-ranks", limits.max_group_ranks},
      {"--max-leases", limits.max_leases},
      {"--max-leases-per-member", limits.max_leases_per_member},
      {"--max-name-bytes", limits.max_name_bytes},
      {"--max-store-key-bytes", store.max_key_bytes},
      {"--max-store-value-bytes", store.max_value_bytes},
      {"--max-store-keys", store.max_keys}};
  for (const auto& [flag, value] : bounds) {
    if (absl::Status s = MustBePositive(flag, value); !s.ok()) return s;
  }
  return CheckAnswer(limits);
}

}  // namespace muster::core
