#include "client/src/data_plane/communicator_name.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/src/group/group_access.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {

// Groups of the same name may exist side by side, so the name includes the ranks.
std::string NextCommunicatorName(const Group& group) {
  const uint64_t number = ++GroupAccess::State(group)->communicators;
  if (group.name().empty()) return absl::StrCat("communicator ", number, " of the world");
  return absl::StrCat("communicator ", number, " of group '", group.name(), "' of ",
                      RankList(group.ranks()));
}

}  // namespace muster::internal
