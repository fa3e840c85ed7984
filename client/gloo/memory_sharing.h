#ifndef MUSTER_CLIENT_GLOO_MEMORY_SHARING_H_
#define MUSTER_CLIENT_GLOO_MEMORY_SHARING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/gloo/gloo_peer_info.h"
#include "client/gloo/node_layout.h"
#include "client/src/node/shared_region.h"
#include "muster/group.h"

namespace muster::internal {

// Whether this process's communicators may use shared memory: MUSTER_GLOO_SHARED_MEMORY.
// INVALID_ARGUMENT if that is neither 0 nor 1.
absl::StatusOr<bool> MayShareMemory();

// Which ranks try to share memory: those of one node, as the job calls it, and one kernel. An error
// says why none of the group do.
absl::StatusOr<NodeLayout> NodesThatShare(const Group& group,
                                          const std::vector<GlooPeerInfo>& infos);

// The memory of this rank's node, which the first of its ranks makes and the others open, each
// after the one before has told all about it. An error says why this rank has none.
absl::StatusOr<std::unique_ptr<SharedRegion>> MakeNodeRegion(
    const NodeLayout& nodes, int rank, const std::vector<GlooPeerInfo>& infos);
absl::StatusOr<std::unique_ptr<SharedRegion>> OpenNodeRegion(const Group& group,
                                                             const NodeLayout& nodes,
                                                             const std::vector<GlooPeerInfo>& infos,
                                                             const std::vector<bool>& made);

// Why this rank's node does not share memory although this rank has it.
absl::Status CannotShare(const Group& group, const NodeLayout& nodes,
                         const std::vector<bool>& can_share);

// For the log: how the collectives go; `why` says why this rank has no shared memory. And where
// none has.
std::string DescribeSharing(const NodeLayout& nodes, const absl::Status& why);
std::string DescribeNoSharing(const absl::Status& why);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_MEMORY_SHARING_H_
