#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_MEMBER_GROUP_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_MEMBER_GROUP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/src/protocol/groups/collective_sequence.h"
#include "client/src/protocol/groups/group_arrivals.h"
#include "client/src/protocol/groups/group_release.h"
#include "client/src/protocol/messages/member_effects.h"

namespace muster::internal {

// A group of the member's latest epoch, or the world. Its calls share it, and may outlive the
// epoch.
struct MemberGroup {
  MemberGroup(std::string group_name, std::vector<int> group_ranks,
              std::shared_ptr<const NodeGroup> on_node);

  bool is_world() const { return name.empty(); }
  // Returns the ranks to name in a call of this session: none if the coordinator knows them. In a
  // large group, the ranks would be most of the request.
  const std::vector<int>& RanksToName(const std::optional<SessionId>& session) const;
  // Starts the group's collectives again at 0 after it was closed. Nothing in progress counts.
  void Restart();

  const std::string name;        // empty for the world
  const std::vector<int> ranks;  // empty for the world
  const std::string digest;      // empty for the world
  // The members of the group on this node; null if this member is the only one.
  const std::shared_ptr<const NodeGroup> at_node;

  uint64_t lives = 0;  // how often it was closed
  CollectiveSequence sequence;
  GroupArrivals arrivals;
  GroupRelease release;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_MEMBER_GROUP_H_
