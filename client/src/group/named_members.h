#ifndef MUSTER_CLIENT_SRC_GROUP_NAMED_MEMBERS_H_
#define MUSTER_CLIENT_SRC_GROUP_NAMED_MEMBERS_H_

#include <vector>

#include "absl/status/status.h"
#include "muster/group.h"

// Notes in errors which members of a group they name (FactsOf). Indices are positions in the group;
// the notes have ranks of the job. Earlier notes are kept, and OK stays OK.
namespace muster::internal {

// Notes the member that the error blames.
absl::Status WithMember(const Group& group, int index, const absl::Status& error);

// Notes the members that the operation has waited for, in ascending order of their indices. No
// effect if there are none.
absl::Status WithMissing(const Group& group, const std::vector<int>& indices,
                         const absl::Status& error);

// Notes the member whose NameOfMember() is at the beginning of the text, if there is one. For
// errors of other members, which travel without their notes.
absl::Status WithMemberOfText(const Group& group, const absl::Status& error);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_GROUP_NAMED_MEMBERS_H_
