#include "common/text/number_ranges.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster {
namespace {

constexpr size_t kMaxNumbers = 1'000'000;

template <typename Number>
std::string Ranges(absl::Span<const Number> numbers, size_t max_ranges) {
  std::vector<std::string> ranges;
  for (size_t first = 0, next; first < numbers.size(); first = next) {
    if (ranges.size() == max_ranges) {
      ranges.push_back("...");
      break;
    }
    for (next = first + 1; next < numbers.size() && numbers[next] == numbers[next - 1] + 1;) ++next;
    ranges.push_back(next - first == 1 ? absl::StrCat(numbers[first])
                                       : absl::StrCat(numbers[first], "-", numbers[next - 1]));
  }
  return absl::StrJoin(ranges, ",");
}

// Returns the number that `text` is, without a sign or spaces.
std::optional<int> ParseNumber(absl::string_view text) {
  int number = 0;
  const bool digits = text.find_first_not_of("0123456789") == absl::string_view::npos;
  if (!digits || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

// Returns the first and the last number of "3" or "8-15".
std::optional<std::pair<int, int>> ParseRange(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  const std::optional<int> first = ParseNumber(ends.first);
  const std::optional<int> last = ends.second.empty() ? first : ParseNumber(ends.second);
  if (!first || !last || *last < *first) return std::nullopt;
  return std::make_pair(*first, *last);
}

}  // namespace

std::string NumberRanges(absl::Span<const int> numbers, size_t max_ranges) {
  return Ranges(numbers, max_ranges);
}

std::string NumberRanges(absl::Span<const uint32_t> numbers, size_t max_ranges) {
  return Ranges(numbers, max_ranges);
}

std::vector<int> ParseNumberRanges(absl::string_view text) {
  absl::ConsumeSuffix(&text, ",...");
  std::vector<int> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto range = ParseRange(part);
    if (!range || (!numbers.empty() && range->first <= numbers.back())) return {};
    const size_t count = static_cast<size_t>(range->second - range->first) + 1;
    if (count > kMaxNumbers - numbers.size()) return {};
    for (size_t i = 0; i < count; ++i) numbers.push_back(range->first + static_cast<int>(i));
  }
  return numbers;
}

}  // namespace muster
