#ifndef MUSTER_CLIENT_SRC_JOB_RANK_NAMES_H_
#define MUSTER_CLIENT_SRC_JOB_RANK_NAMES_H_

#include <string>
#include <vector>

#include "muster/group.h"

// How errors name ranks: members of a group, by their indices in it.
namespace muster::internal {

// By the job's rank: "rank 3 (host h, pid 77)", "rank 3 (node 'a', pid 77)" where the node was
// given an id.
std::string NameOfMember(const Group& group, int index);

// By the group's, which the ranks of a communicator go by: the same, or, where the group numbers it
// differently from the job, "rank 1 (rank 3 of the job, host h, pid 77)".
std::string DescribePeer(const Group& group, int index);

// The first few, as above, and how many more: "rank 3 (host h, pid 77), ranks 4-6".
std::string DescribePeers(const Group& group, const std::vector<int>& indices);

// "rank 2" or "ranks 0-2,5". Ascending.
std::string RankList(const std::vector<int>& indices);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_RANK_NAMES_H_
