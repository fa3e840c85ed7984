#ifndef MUSTER_CLIENT_SRC_GROUP_RANK_NAMES_H_
#define MUSTER_CLIENT_SRC_GROUP_RANK_NAMES_H_

#include <string>
#include <vector>

#include "muster/group.h"

// Names of ranks in errors. Indices are positions in the group.
namespace muster::internal {

// Names a member by its rank in the job: "rank 3 (host h, pid 77)", or "rank 3 (node 'a', pid 77)"
// if the node has an id of its own.
std::string NameOfMember(const Group& group, int index);

// Names a member by its rank in the group, as users of a communicator do. If the job's rank
// differs, adds it: "rank 1 (rank 3 of the job, host h, pid 77)".
std::string DescribePeer(const Group& group, int index);

// Names the first few members as DescribePeer() does, and the others by number: "rank 3 (host h,
// pid 77), ranks 4-6".
std::string DescribePeers(const Group& group, const std::vector<int>& indices);

// Returns "rank 2" or "ranks 0-2,5". `indices` must be ascending.
std::string RankList(const std::vector<int>& indices);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_GROUP_RANK_NAMES_H_
