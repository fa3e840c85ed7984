#ifndef MUSTER_CLIENT_SRC_PROTOCOL_NODE_COMPLETION_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_NODE_COMPLETION_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "client/src/node/fan_in_round.h"
#include "client/src/protocol/messages/collective_call.h"

namespace muster::internal {

// The largest answer that fits into shared memory beside the rest (SegmentOptions).
inline constexpr size_t kMaxFanInAnswerBytes = 60 << 10;

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
