#include "common/text/utf8.h"

#include <utf8cpp/utf8.h>

#include <algorithm>

namespace muster {

std::optional<char32_t> TakeCodePoint(absl::string_view* text) {
  constexpr size_t kMostBytes = 4;
  const absl::string_view bytes = text->substr(0, kMostBytes);
  if (utf8::find_invalid(bytes.begin(), bytes.end()) == bytes.begin()) {
    text->remove_prefix(1);
    return std::nullopt;
  }
  const char* next = bytes.data();
  const char32_t c = utf8::unchecked::next(next);
  text->remove_prefix(next - bytes.data());
  return c;
}

bool IsControl(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

size_t FindUnprintable(absl::string_view text) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  // Skips plain ASCII first, since most names are ASCII.
  const auto first = std::find_if_not(text.begin(), text.end(), is_plain);
  for (absl::string_view rest = text.substr(first - text.begin()); !rest.empty();) {
    const size_t position = text.size() - rest.size();
    const std::optional<char32_t> c = TakeCodePoint(&rest);
    if (!c || IsControl(*c)) return position;
  }
  return absl::string_view::npos;
}

absl::string_view TruncateUtf8(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  while (max_bytes > 0 && continues(text[max_bytes])) --max_bytes;
  return text.substr(0, max_bytes);
}

std::string ReplaceUnprintable(absl::string_view text) {
  std::string result;
  for (size_t bad; (bad = FindUnprintable(text)) != absl::string_view::npos;) {
    result.append(text.data(), bad);
    result.push_back('?');
    text.remove_prefix(bad);
    TakeCodePoint(&text);
  }
  result.append(text.data(), text.size());
  return result;
}

}  // namespace muster
