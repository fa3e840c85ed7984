#ifndef MUSTER_CLIENT_SRC_BASE_RANK_RANGES_H_
#define MUSTER_CLIENT_SRC_BASE_RANK_RANGES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::internal {

// Returns ascending ranks as ranges: "3,8-15".
std::string RankRanges(const std::vector<int>& ranks);

// Returns the ranks of such a text. A last part "..." stands for more ranges, which the text leaves
// out. Returns no ranks if the text is malformed, if its ranks do not ascend, or if it has more
// than a million of them.
std::vector<int> ParseRankRanges(absl::string_view text);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_RANK_RANGES_H_
