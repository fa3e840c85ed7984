#ifndef MUSTER_CLIENT_LAUNCHER_PMIX_FENCE_RANKS_H_
#define MUSTER_CLIENT_LAUNCHER_PMIX_FENCE_RANKS_H_

#include <pmix_common.h>

#include <cstddef>
#include <vector>

// Returns the ranks of a fence between these processes. Empty means all ranks of the world:
// PMIX_RANK_WILDCARD stands for them, also if the list has ranks beside it.
inline std::vector<int> RanksOfFence(const pmix_proc_t* processes, size_t count) {
  std::vector<int> ranks;
  for (size_t i = 0; i < count; ++i) {
    if (processes[i].rank == PMIX_RANK_WILDCARD) return {};
    ranks.push_back(static_cast<int>(processes[i].rank));
  }
  return ranks;
}

#endif  // MUSTER_CLIENT_LAUNCHER_PMIX_FENCE_RANKS_H_
