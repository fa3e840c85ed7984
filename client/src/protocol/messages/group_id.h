#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_GROUP_ID_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_GROUP_ID_H_

#include <string>
#include <vector>

#include "client/src/protocol/messages/epoch_id.h"

namespace muster::internal {

// The identity of a group: its epoch, name and ranks.
struct GroupId {
  EpochId epoch;
  std::string name;        // empty for the world
  std::vector<int> ranks;  // empty for the world
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_GROUP_ID_H_
