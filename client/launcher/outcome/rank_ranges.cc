#include "client/launcher/outcome/rank_ranges.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text/number_ranges.h"

namespace muster::launcher {

std::string RankRanges(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return NumberRanges(ranks);
}

std::string NamedRanks(const std::vector<int>& ranks) {
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", RankRanges(ranks));
}

}  // namespace muster::launcher
