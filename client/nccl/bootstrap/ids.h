#ifndef MUSTER_CLIENT_NCCL_BOOTSTRAP_IDS_H_
#define MUSTER_CLIENT_NCCL_BOOTSTRAP_IDS_H_

#include <nccl.h>

#include <vector>

#include "absl/status/statusor.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"

namespace muster::internal {

// Returns how many ranks bootstrap at one id; larger groups use several ids. By default 128;
// MUSTER_NCCL_RANKS_PER_ID, the same on all ranks, overrides it. Returns 0 if this NCCL accepts
// only one id.
int RanksPerId();

// Creates the ids of a new communicator and shares them by a collective of the group. Returns the
// same ids in the same order on all ranks. If one id is enough, rank 0 creates it; otherwise the
// first rank of each `ranks_per_id` ranks creates one. The creator must live until all ranks are
// initialized, because its process listens at the address in the id.
//
// Errors, the same on all ranks: FAILED_PRECONDITION naming a rank that could not create an id, and
// why; Group's errors.
absl::StatusOr<std::vector<ncclUniqueId>> ShareIds(const Group& group, int ranks_per_id,
                                                   const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_BOOTSTRAP_IDS_H_
