#ifndef MUSTER_COMMON_UTF8_H_
#define MUSTER_COMMON_UTF8_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// Takes the first code point off `text`. Nothing, and one byte taken, where it is not valid UTF-8.
// `text` must not be empty.
std::optional<char32_t> TakeCodePoint(absl::string_view* text);

// Control characters of ASCII and Latin-1: a terminal would act on them.
bool IsControl(char32_t c);

// Position of the first byte of a control character, or of what is not UTF-8; npos if there is
// none.
size_t FindUnprintable(absl::string_view text);

// The longest prefix of at most `max_bytes` bytes that ends between two characters.
absl::string_view WholeCharacters(absl::string_view text, size_t max_bytes);

// `text` with control characters and what is not UTF-8 replaced by '?'.
std::string Printable(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_COMMON_UTF8_H_
