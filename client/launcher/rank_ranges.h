#ifndef MUSTER_CLIENT_LAUNCHER_RANK_RANGES_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_RANGES_H_

#include <string>
#include <vector>

namespace muster::launcher {

// "0-2,5" for {5, 0, 1, 2}; empty for none.
std::string RankRanges(std::vector<int> ranks);

// "rank 5", "ranks 0-2,5".
std::string NamedRanks(const std::vector<int>& ranks);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_RANGES_H_
