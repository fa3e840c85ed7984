#include "common/utf8.h"

#include <algorithm>

namespace muster {
namespace {

// Number of bytes of the sequence that starts with `lead`; 0 where none does.
int SequenceLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

// False for code points that a longer sequence than needed spells, surrogates and what lies beyond
// Unicode.
bool IsValid(char32_t c, int length) {
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  return c >= kSmallest[length] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

}  // namespace

std::optional<char32_t> TakeCodePoint(absl::string_view* text) {
  const absl::string_view bytes = *text;
  text->remove_prefix(1);
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const int length = SequenceLength(lead);
  if (length == 0 || bytes.size() < static_cast<size_t>(length)) return std::nullopt;
  char32_t c = length == 1 ? lead : lead & (0x7f >> length);
  for (int i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(bytes[i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    c = c << 6 | (next & 0x3f);
  }
  if (!IsValid(c, length)) return std::nullopt;
  text->remove_prefix(length - 1);
  return c;
}

bool IsControl(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

size_t FindUnprintable(absl::string_view text) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  // Most names are ASCII.
  const auto first = std::find_if_not(text.begin(), text.end(), is_plain);
  for (absl::string_view rest = text.substr(first - text.begin()); !rest.empty();) {
    const size_t position = text.size() - rest.size();
    const std::optional<char32_t> c = TakeCodePoint(&rest);
    if (!c || IsControl(*c)) return position;
  }
  return absl::string_view::npos;
}

absl::string_view WholeCharacters(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  while (max_bytes > 0 && continues(text[max_bytes])) --max_bytes;
  return text.substr(0, max_bytes);
}

std::string Printable(absl::string_view text) {
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
