#include "server/daemon/flag_values.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace muster::daemon {
namespace {

struct Unit {
  absl::string_view suffix;
  uint64_t bytes;
};
constexpr Unit kUnits[] = {{"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10}};

absl::Status Unexpected(const std::string& text, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not ", expected));
}

}  // namespace

absl::Status Parse(const std::string& text, std::string* out) {
  *out = text;
  return absl::OkStatus();
}

absl::Status Parse(const std::string& text, uint32_t* out) {
  if (absl::SimpleAtoi(text, out)) return absl::OkStatus();
  return Unexpected(text, "a whole number from 0 to 4294967295");
}

absl::Status Parse(const std::string& text, uint64_t* out) {
  absl::string_view digits = text;
  uint64_t unit_bytes = 1;
  for (const Unit& unit : kUnits) {
    if (absl::ConsumeSuffix(&digits, unit.suffix)) unit_bytes = unit.bytes;
  }
  uint64_t number = 0;
  if (!absl::SimpleAtoi(digits, &number) ||
      number > std::numeric_limits<uint64_t>::max() / unit_bytes) {
    return Unexpected(text, "a size; expected bytes (1048576), or a number with KiB, MiB or GiB");
  }
  *out = number * unit_bytes;
  return absl::OkStatus();
}

absl::Status Parse(const std::string& text, absl::Duration* out) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value) || value < absl::ZeroDuration() ||
      value == absl::InfiniteDuration()) {
    return Unexpected(text,
                      "a duration; expected numbers with units (ms, s, m, h), such as "
                      "500ms, 2s or 1m30s");
  }
  *out = value;
  return absl::OkStatus();
}

std::string Format(const std::string& value) { return value; }

std::string Format(uint32_t value) { return absl::StrCat(value); }

std::string Format(uint64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes != 0 && bytes % unit.bytes == 0) return absl::StrCat(bytes / unit.bytes, unit.suffix);
  }
  return absl::StrCat(bytes);
}

std::string Format(absl::Duration value) { return absl::FormatDuration(value); }

}  // namespace muster::daemon
