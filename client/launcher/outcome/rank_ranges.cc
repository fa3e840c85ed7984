#include "client/launcher/outcome/rank_ranges.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::launcher {

std::string RankRanges(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (size_t first = 0; first < ranks.size();) {
    size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] <= ranks[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", ranks[first]);
    if (ranks[last] != ranks[first]) absl::StrAppend(&text, "-", ranks[last]);
    first = last + 1;
  }
  return text;
}

std::string NamedRanks(const std::vector<int>& ranks) {
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", RankRanges(ranks));
}

}  // namespace muster::launcher
