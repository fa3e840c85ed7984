#ifndef MUSTER_COMMON_TEXT_REFLOW_H_
#define MUSTER_COMMON_TEXT_REFLOW_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// The width of a terminal, for help texts.
inline constexpr size_t kHelpWidth = 80;

// Breaks the paragraphs of `text` into lines of at most `width` bytes, if its words are short
// enough. Keeps blank lines, and lines that begin with a space.
std::string Reflow(absl::string_view text, size_t width);

}  // namespace muster

#endif  // MUSTER_COMMON_TEXT_REFLOW_H_
