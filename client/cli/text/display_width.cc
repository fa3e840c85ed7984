#include "client/cli/text/display_width.h"

#include <algorithm>

#include "common/text/utf8.h"

namespace muster::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// The blocks that matter for names of hosts and steps, not all of UAX #11.
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

}  // namespace

int DisplayWidth(absl::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const char32_t c = TakeCodePoint(&text).value_or(U'?');
    width += Contains(kCombining, c) ? 0 : Contains(kWide, c) ? 2 : 1;
  }
  return width;
}

}  // namespace muster::cli
