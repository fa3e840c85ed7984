#include "client/src/base/rank_ranges.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::internal {
namespace {

constexpr size_t kMaxRanks = 1'000'000;

// Returns the number that `text` is, without a sign or spaces.
std::optional<int> Number(absl::string_view text) {
  int number = 0;
  const bool digits = text.find_first_not_of("0123456789") == absl::string_view::npos;
  if (!digits || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

// Returns the first and the last rank of "3" or "8-15".
std::optional<std::pair<int, int>> ParseRange(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  const std::optional<int> first = Number(ends.first);
  const std::optional<int> last = ends.second.empty() ? first : Number(ends.second);
  if (!first || !last || *last < *first) return std::nullopt;
  return std::make_pair(*first, *last);
}

}  // namespace

std::string RankRanges(const std::vector<int>& ranks) {
  std::vector<std::string> ranges;
  for (size_t first = 0, next; first < ranks.size(); first = next) {
    for (next = first + 1; next < ranks.size() && ranks[next] == ranks[next - 1] + 1;) ++next;
    ranges.push_back(next - first == 1 ? absl::StrCat(ranks[first])
                                       : absl::StrCat(ranks[first], "-", ranks[next - 1]));
  }
  return absl::StrJoin(ranges, ",");
}

std::vector<int> ParseRankRanges(absl::string_view text) {
  absl::ConsumeSuffix(&text, ",...");
  std::vector<int> ranks;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto range = ParseRange(part);
    if (!range || (!ranks.empty() && range->first <= ranks.back())) return {};
    const size_t count = static_cast<size_t>(range->second - range->first) + 1;
    if (count > kMaxRanks - ranks.size()) return {};
    for (size_t i = 0; i < count; ++i) ranks.push_back(range->first + static_cast<int>(i));
  }
  return ranks;
}

}  // namespace muster::internal
