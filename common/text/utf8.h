#ifndef MUSTER_COMMON_TEXT_UTF8_H_
#define MUSTER_COMMON_TEXT_UTF8_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Removes the first code point from `text`, which must not be empty, and returns it. If it is not
// valid UTF-8, removes one byte and returns nullopt.
std::optional<char32_t> TakeCodePoint(absl::string_view* text);

// Returns whether `c` is a control character of ASCII or Latin-1, on which a terminal would act.
bool IsControl(char32_t c);

// Returns the position of the first byte that is a control character or not UTF-8, or npos.
size_t FindUnprintable(absl::string_view text);

// Returns the longest prefix of at most `max_bytes` bytes that ends between two characters.
absl::string_view TruncateUtf8(absl::string_view text, size_t max_bytes);

// Returns `text` with '?' in place of control characters and of bytes that are not UTF-8.
std::string ReplaceUnprintable(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_COMMON_TEXT_UTF8_H_
