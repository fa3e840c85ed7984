#ifndef MUSTER_COMMON_TEXT_NUMBER_RANGES_H_
#define MUSTER_COMMON_TEXT_NUMBER_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// Lists of ranks and of CPUs as text: "0-3,8".
namespace muster {

inline constexpr size_t kAllRanges = std::numeric_limits<size_t>::max();

// Returns numbers, which ascend, as ranges. "..." stands for those after the first `max_ranges`.
std::string NumberRanges(absl::Span<const int> numbers, size_t max_ranges = kAllRanges);
std::string NumberRanges(absl::Span<const uint32_t> numbers, size_t max_ranges = kAllRanges);

// Returns the numbers of such a text. A last part "..." stands for more ranges, which the text
// leaves out. Returns no numbers if the text is malformed, if its numbers do not ascend, or if it
// has more than a million of them.
std::vector<int> ParseNumberRanges(absl::string_view text);

}  // namespace muster

#endif  // MUSTER_COMMON_TEXT_NUMBER_RANGES_H_
