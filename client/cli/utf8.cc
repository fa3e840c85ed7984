#include "client/cli/utf8.h"

#include <algorithm>

namespace muster::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// The blocks that people's host and step names are written in, not the whole of UAX #11.
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
                           {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                           {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                           {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
constexpr Range kCombining[] = {{0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
                                {0xfe20, 0xfe2f}};

template <size_t N>
bool Contains(const Range (&ranges)[N], char32_t c) {
  return std::any_of(ranges, ranges + N, [c](Range r) { return r.first <= c && c <= r.last; });
}

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

int DisplayWidth(absl::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const char32_t c = TakeCodePoint(&text).value_or(U'?');
    width += Contains(kCombining, c) ? 0 : Contains(kWide, c) ? 2 : 1;
  }
  return width;
}

std::string Printable(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    const absl::string_view before = text;
    const std::optional<char32_t> c = TakeCodePoint(&text);
    if (!c || IsControl(*c)) {
      result.push_back('?');
    } else {
      result.append(before.data(), before.size() - text.size());
    }
  }
  return result;
}

}  // namespace muster::cli
