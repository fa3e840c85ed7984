#include "client/src/checks.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace muster::internal {
namespace {

bool IsControl(unsigned char c) { return c < 0x20 || c == 0x7f; }

// Length of the UTF-8 sequence at the start of `text`, 0 if it is malformed.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

// Position of the first byte that is a control character or malformed UTF-8; npos if there is none.
size_t FirstBadByte(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text.substr(i));
    if (length == 0 || IsControl(static_cast<unsigned char>(text[i]))) return i;
    i += length;
  }
  return absl::string_view::npos;
}

}  // namespace

absl::Status CheckText(absl::string_view what, absl::string_view name, size_t max_bytes) {
  if (name.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", what, " '", absl::CEscape(name.substr(0, 32)), "...' has ",
                     name.size(), " bytes; at most ", max_bytes, " are allowed"));
  }
  const size_t bad = FirstBadByte(name);
  if (bad == absl::string_view::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " '", absl::CEscape(name), "' has a ",
                   IsControl(static_cast<unsigned char>(name[bad])) ? "control character"
                                                                    : "byte that is not UTF-8",
                   " at position ", bad, "; expected printable text"));
}

absl::Status CheckName(absl::string_view what, absl::string_view name, size_t max_bytes) {
  if (name.empty()) return absl::InvalidArgumentError(absl::StrCat("the ", what, " is empty"));
  return CheckText(what, name, max_bytes);
}

absl::Status CheckTimeout(absl::string_view what, absl::Duration timeout) {
  if (timeout >= absl::ZeroDuration() && timeout < absl::InfiniteDuration()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      what, " is ", absl::FormatDuration(timeout),
      "; expected a finite duration that is not negative: nothing waits without a deadline"));
}

std::string Printable(absl::string_view text) {
  std::string clean(text);
  while (true) {
    const size_t bad = FirstBadByte(clean);
    if (bad == std::string::npos) return clean;
    clean[bad] = '?';
  }
}

}  // namespace muster::internal
