#ifndef MUSTER_COMMON_REFLOW_H_
#define MUSTER_COMMON_REFLOW_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// A terminal's width, which help keeps to.
inline constexpr size_t kHelpWidth = 80;

// Breaks the paragraphs of `text` anew, into lines of at most `width` bytes where their words allow
// it. Blank lines, and lines that begin with a space, stay as they are.
std::string Reflow(absl::string_view text, size_t width);

}  // namespace muster

#endif  // MUSTER_COMMON_REFLOW_H_
