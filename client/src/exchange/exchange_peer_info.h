#ifndef MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_PEER_INFO_H_
#define MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_PEER_INFO_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "muster/group.h"
#include "muster/sdk/v1/peers.pb.h"

namespace muster::internal {

using sdk::v1::ExchangePeerInfo;

// INVALID_ARGUMENT if the list is empty, names a rank twice, or one that is not in the group.
absl::Status CheckExchangeRanks(const std::vector<int>& ranks, const Group& group);

// What is only seen with all infos, in the group's order, in hand. Every rank finds the same.
// INVALID_ARGUMENT: lists, or the choices of folder and shared memory, differ.
// FAILED_PRECONDITION: shared memory between nodes.
absl::Status CheckPeerInfos(const std::vector<ExchangePeerInfo>& infos, const Group& group);

// INVALID_ARGUMENT names two ranks whose tensors differ in size or type.
absl::Status CheckEqualTensors(const std::vector<ExchangePeerInfo>& infos, const Group& group);

// The index in the group of the exchange's first rank. CheckExchangeRanks() has held.
int FirstIndex(const std::vector<ExchangePeerInfo>& infos, const Group& group);

// The bytes of shared memory that all ranks need together: the first needs none.
uint64_t TotalBytes(const std::vector<ExchangePeerInfo>& infos, const Group& group);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_EXCHANGE_EXCHANGE_PEER_INFO_H_
