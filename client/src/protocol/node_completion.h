#ifndef MUSTER_CLIENT_SRC_PROTOCOL_NODE_COMPLETION_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_NODE_COMPLETION_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "client/src/node/fan_in_round.h"
#include "client/src/protocol/messages/collective_call.h"

namespace muster::internal {

// Returns the largest answer, in bytes, that goes through the shared memory of a node with so many
// members. On a large node, 1 KiB from each of 64 fits; a small one has room for more groups.
constexpr size_t MaxFanInAnswerBytes(size_t members) {
  return members <= 32 ? size_t{60} << 10 : size_t{92} << 10;
}

// Returns the result with which the sender of these parts completes the collective itself
// (docs/node-fan-in.md, R16), for FanInRound. It reads as the coordinator's answer to the batch.
// Returns nullopt if the parts must go to the coordinator instead, because
//   * the group has ranks whose parts are not among them;
//   * the coordinator would refuse a part, and only it can tell the member why;
//   * the answer is too large for shared memory.
//
// `parts` are of this call, and of one number of the group. `group_ranks` are the group's ranks in
// its order, also of the world. `node_ranks` are the ranks of the node's members in their order.
// `stop_requested` says that the answer reports a stop.
std::optional<Delivery> CompleteOnNode(const std::vector<int>& group_ranks,
                                       const std::vector<int>& node_ranks,
                                       const CollectiveCall& call,
                                       const std::vector<TakenPart>& parts, bool stop_requested);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_NODE_COMPLETION_H_
