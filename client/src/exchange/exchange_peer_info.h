#ifndef MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_PEER_INFO_H_
#define MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_PEER_INFO_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "muster/group.h"
#include "muster/sdk/v1/peers.pb.h"

namespace muster::internal {

using sdk::v1::ExchangePeerInfo;

// Returns INVALID_ARGUMENT if the list is empty, names a rank twice, or names a rank outside the
// group.
absl::Status CheckExchangeRanks(const std::vector<int>& ranks, const Group& group);

// Checks the infos of all ranks, in the group's order, against each other. Every rank gets the same
// result. Returns INVALID_ARGUMENT if lists or media (folder or shared memory) differ, or
// FAILED_PRECONDITION for shared memory between nodes.
absl::Status CheckPeerInfos(const std::vector<ExchangePeerInfo>& infos, const Group& group);

// Returns INVALID_ARGUMENT, naming two ranks, if their tensors differ in size or type.
absl::Status CheckEqualTensors(const std::vector<ExchangePeerInfo>& infos, const Group& group);

// Returns the index in the group of the exchange's first rank. Call it after CheckExchangeRanks().
int FirstIndex(const std::vector<ExchangePeerInfo>& infos, const Group& group);

// Returns how many bytes of shared memory all ranks need together. The first rank needs none.
uint64_t TotalBytes(const std::vector<ExchangePeerInfo>& infos, const Group& group);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_PEER_INFO_H_
