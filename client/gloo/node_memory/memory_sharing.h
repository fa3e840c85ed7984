#ifndef MUSTER_CLIENT_GLOO_NODE_MEMORY_MEMORY_SHARING_H_
#define MUSTER_CLIENT_GLOO_NODE_MEMORY_MEMORY_SHARING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/gloo/connections/gloo_peer_info.h"
#include "client/gloo/node_memory/node_layout.h"
#include "client/src/node/shared_region.h"
#include "muster/group.h"

namespace muster::internal {

// Returns whether this process's communicators may use shared memory: MUSTER_GLOO_SHARED_MEMORY, by
// default true. INVALID_ARGUMENT if the variable is neither 0 nor 1.
absl::StatusOr<bool> MayShareMemory();

// Returns the layout of the ranks that try to share memory: ranks with the same node id and the
// same running kernel. An error says why no two ranks of the group do.
absl::StatusOr<NodeLayout> NodesThatShare(const Group& group,
                                          const std::vector<GlooPeerInfo>& infos);

// Make or open the memory of this rank's node. The order is:
//
//   1. The first rank of each node calls MakeNodeRegion(); it returns null on the other ranks.
//   2. All ranks tell each other whether they have made one (`made`).
//   3. The other ranks call OpenNodeRegion().
//
// An error says why this rank has no memory.
absl::StatusOr<std::unique_ptr<SharedRegion>> MakeNodeRegion(
    const NodeLayout& nodes, int rank, const std::vector<GlooPeerInfo>& infos);
absl::StatusOr<std::unique_ptr<SharedRegion>> OpenNodeRegion(const Group& group,
                                                             const NodeLayout& nodes,
                                                             const std::vector<GlooPeerInfo>& infos,
                                                             const std::vector<bool>& made);

// Returns why this rank's node does not share memory although this rank has opened it, or OK if it
// does.
absl::Status CheckNodeShares(const Group& group, const NodeLayout& nodes,
                             const std::vector<bool>& can_share);

// Return a text for the log on how the collectives go. `why` is the reason why this rank, or every
// rank, has no shared memory.
std::string DescribeSharing(const NodeLayout& nodes, const absl::Status& why);
std::string DescribeNoSharing(const absl::Status& why);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_MEMORY_MEMORY_SHARING_H_
