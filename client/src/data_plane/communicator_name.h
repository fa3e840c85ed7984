#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_COMMUNICATOR_NAME_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_COMMUNICATOR_NAME_H_

#include <string>

#include "muster/group.h"

namespace muster::internal {

// What the next communicator of this group is called by those who look for what hangs:
// "communicator 1 of the world". Alike on all of its ranks, since all create a group's
// communicators in the same order.
std::string NextCommunicatorName(const Group& group);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_COMMUNICATOR_NAME_H_
