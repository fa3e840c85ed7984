#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_COMMUNICATOR_NAME_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_COMMUNICATOR_NAME_H_

#include <string>

#include "muster/group.h"

namespace muster::internal {

// Returns the name of the group's next communicator, for reports about hangs: "communicator 1 of
// the world". It is the same on all ranks, because all create a group's communicators in the same
// order.
std::string NextCommunicatorName(const Group& group);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_COMMUNICATOR_NAME_H_
