#ifndef MUSTER_SERVER_CORE_GROUP_DISAGREEMENT_H_
#define MUSTER_SERVER_CORE_GROUP_DISAGREEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/group/arrival.h"

namespace muster::core {

// Returns what the ranks of a group called that disagree, and from where: "ranks 0-2 called
// Barrier('epoch') at train.cc:42, rank 3 called Broadcast(root 0)". `arrivals` are in the order of
// `ranks`. Every rank gets this text, so it is bounded, however many sides there are.
std::string DescribeDisagreement(const std::vector<uint32_t>& ranks,
                                 const std::vector<Arrival>& arrivals);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_DISAGREEMENT_H_
