#ifndef MUSTER_CLIENT_GLOO_CONNECTIONS_GLOO_PEER_INFO_H_
#define MUSTER_CLIENT_GLOO_CONNECTIONS_GLOO_PEER_INFO_H_

#include <vector>

#include "absl/status/status.h"
#include "client/gloo/connections/network_interface.h"
#include "muster/group.h"
#include "muster/sdk/v1/peers.pb.h"

namespace muster::internal {

using sdk::v1::GlooPeerInfo;

// Returns this rank's info, without its endpoints.
GlooPeerInfo MakeGlooPeerInfo(const NetworkAddress& address);

// Checks that all ranks can reach each other at the addresses that they offer. Returns
// FAILED_PRECONDITION, naming both ranks, if one offers a loopback address to a rank on another
// host, or one offers IPv4 and the other IPv6.
absl::Status CheckGlooPeerInfos(const Group& group, const std::vector<GlooPeerInfo>& infos);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CONNECTIONS_GLOO_PEER_INFO_H_
