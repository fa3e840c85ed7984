#ifndef MUSTER_CLIENT_GLOO_GLOO_PEER_INFO_H_
#define MUSTER_CLIENT_GLOO_GLOO_PEER_INFO_H_

#include <vector>

#include "absl/status/status.h"
#include "client/gloo/network_interface.h"
#include "muster/group.h"
#include "muster/sdk/v1/peers.pb.h"

namespace muster::internal {

using sdk::v1::GlooPeerInfo;

// This rank's, without its endpoints.
GlooPeerInfo MakeGlooPeerInfo(const NetworkAddress& address);

// FAILED_PRECONDITION if two ranks cannot reach each other at the addresses that they offer: a
// loopback address and different hosts, or IPv4 and IPv6. Names both.
absl::Status CheckGlooPeerInfos(const Group& group, const std::vector<GlooPeerInfo>& infos);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_GLOO_PEER_INFO_H_
