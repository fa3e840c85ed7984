#ifndef MUSTER_CLIENT_LAUNCHER_OUTCOME_RANK_RANGES_H_
#define MUSTER_CLIENT_LAUNCHER_OUTCOME_RANK_RANGES_H_

#include <string>
#include <vector>

namespace muster::launcher {

// Returns "0-2,5" for {5, 0, 1, 2}, and "" for an empty list.
std::string RankRanges(std::vector<int> ranks);

// Returns "rank 5" or "ranks 0-2,5".
std::string NamedRanks(const std::vector<int>& ranks);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_OUTCOME_RANK_RANGES_H_
