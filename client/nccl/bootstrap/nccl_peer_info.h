#ifndef MUSTER_CLIENT_NCCL_BOOTSTRAP_NCCL_PEER_INFO_H_
#define MUSTER_CLIENT_NCCL_BOOTSTRAP_NCCL_PEER_INFO_H_

#include <vector>

#include "absl/status/status.h"
#include "muster/group.h"
#include "muster/sdk/v1/peers.pb.h"

namespace muster::internal {

using sdk::v1::NcclPeerInfo;

// Checks the ranks' infos, which are in the group's order. All ranks get the same result:
// FAILED_PRECONDITION if two ranks use one GPU and not all ranks allow that, if NCCL's versions
// differ, or if settings of NCCL differ that must agree.
absl::Status CheckNcclPeerInfos(const Group& group, const std::vector<NcclPeerInfo>& infos);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_BOOTSTRAP_NCCL_PEER_INFO_H_
