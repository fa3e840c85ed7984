#include "server/core/support/bounded_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text/utf8.h"

namespace muster::core {
namespace {

constexpr absl::string_view kEllipsis = "...";

size_t EncodedBytes(char c) { return c >= 0x20 && c <= 0x7e && c != '%' ? 1 : 3; }

std::string CutAt(absl::string_view text, size_t end) {
  return absl::StrCat(TruncateUtf8(text, end), kEllipsis);
}

}  // namespace

std::string Shortened(absl::string_view text, size_t max_bytes) {
  return text.size() <= max_bytes ? std::string(text) : CutAt(text, max_bytes);
}

std::string ShortenedForMetadata(std::string text, size_t max_bytes) {
  size_t encoded = 0;
  size_t end = 0;
  while (end < text.size() && encoded <= max_bytes) encoded += EncodedBytes(text[end++]);
  if (encoded <= max_bytes) return text;
  return CutAt(text, end - std::min(end, 1 + kEllipsis.size()));
}

}  // namespace muster::core
