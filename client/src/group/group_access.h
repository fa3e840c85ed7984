#ifndef MUSTER_CLIENT_SRC_GROUP_GROUP_ACCESS_H_
#define MUSTER_CLIENT_SRC_GROUP_GROUP_ACCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/group/group_state.h"
#include "muster/group.h"

namespace muster::internal {

// Access for the rest of the SDK to what Group keeps private.
struct GroupAccess {
  static const std::shared_ptr<GroupState>& State(const Group& group) { return group.state_; }
  static Group Make(std::shared_ptr<GroupState> state) { return Group(std::move(state)); }

  // Runs any collective, as the public methods do.
  static absl::StatusOr<std::vector<std::string>> Run(const Group& group, CollectiveCall call,
                                                      const CallOptions& options, CallSite site);
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_GROUP_GROUP_ACCESS_H_
