#ifndef MUSTER_CLIENT_NCCL_SPLIT_RANKS_H_
#define MUSTER_CLIENT_NCCL_SPLIT_RANKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"

// Which ranks of a communicator a new one is made of, by their indices in the old one.
namespace muster::internal {

using SplitRanks = std::vector<int>;

// The members of `part`, which may belong to a later epoch, among those of a communicator, which
// are named by their incarnations. INVALID_ARGUMENT naming one that is not there, or if `own`, the
// caller's rank in the communicator, is not in the part.
absl::StatusOr<SplitRanks> SplitRanksOf(const std::vector<std::string>& incarnations, int own,
                                        const Group& part);

// The parts (empty: none) that the ranks of a communicator want to be in, by rank. OK if they are
// disjoint, and each rank is in the one it wants; else FAILED_PRECONDITION naming two ranks.
absl::Status CheckSplitRanks(const Group& group, const std::vector<SplitRanks>& parts);

// Every rank's part, in one collective of `group`. A rank that cannot take part passes why.
absl::StatusOr<std::vector<SplitRanks>> ExchangeSplitRanks(const Group& group,
                                                           absl::string_view what,
                                                           const absl::StatusOr<SplitRanks>& own,
                                                           const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_SPLIT_RANKS_H_
