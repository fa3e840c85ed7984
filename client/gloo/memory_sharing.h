#ifndef MUSTER_CLIENT_GLOO_MEMORY_SHARING_H_
#define MUSTER_CLIENT_GLOO_MEMORY_SHARING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/gloo/peer_info.h"
#include "muster/group.h"

namespace muster::internal {

// Whether this process's communicators may use shared memory:
// MUSTER_GLOO_SHARED_MEMORY. INVALID_ARGUMENT if that is neither 0 nor 1.
absl::StatusOr<bool> MayShareMemory();

// The name of the segment that the first rank makes for all, or why there is to
// be none.
absl::StatusOr<std::string> SharedMemoryFor(const Group& group,
                                            const std::vector<GlooPeerInfo>& infos);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_MEMORY_SHARING_H_
