#ifndef MUSTER_CLIENT_NCCL_IDS_H_
#define MUSTER_CLIENT_NCCL_IDS_H_

#include <nccl.h>

#include <vector>

#include "absl/status/statusor.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"

namespace muster::internal {

// Ranks that bootstrap at one id; more ids than one for larger groups. MUSTER_NCCL_RANKS_PER_ID,
// the same on all ranks, overrides 128. 0: one id serves all, since this NCCL takes no more.
int RanksPerId();

// The ids of a new communicator, the same in the same order on all ranks, by a collective of the
// group: where one is enough its rank 0 creates and broadcasts it, otherwise the first rank of each
// `ranks_per_id` creates one. That rank must live until all are initialized: its process listens at
// the address in the id.
//
// Errors, on all ranks: FAILED_PRECONDITION naming a rank that could not create one, and why; those
// of Group.
absl::StatusOr<std::vector<ncclUniqueId>> ShareIds(const Group& group, int ranks_per_id,
                                                   const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_IDS_H_
