#ifndef MUSTER_CLIENT_CLI_UTF8_H_
#define MUSTER_CLIENT_CLI_UTF8_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// Takes the first code point off `text`. Nothing, and one byte taken, where it is not valid UTF-8.
// `text` must not be empty.
std::optional<char32_t> TakeCodePoint(absl::string_view* text);

// Control characters of ASCII and Latin-1: a terminal would act on them.
bool IsControl(char32_t c);

// Number of terminal columns that `text` takes: wide East Asian characters and emoji two, combining
// marks none.
int DisplayWidth(absl::string_view text);

// `text` with control characters and what is not UTF-8 replaced by '?'.
std::string Printable(absl::string_view text);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_UTF8_H_
