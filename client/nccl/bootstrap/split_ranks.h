#ifndef MUSTER_CLIENT_NCCL_BOOTSTRAP_SPLIT_RANKS_H_
#define MUSTER_CLIENT_NCCL_BOOTSTRAP_SPLIT_RANKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"

// The choice of ranks for NcclCommunicator::Split(): the ranks of a new communicator, as indices in
// the old one.
namespace muster::internal {

using SplitRanks = std::vector<int>;

// Returns the members of `part`, which may belong to a later epoch, as indices into a
// communicator's `incarnations`. INVALID_ARGUMENT, naming the member, if one is not there, or if
// `own`, the caller's rank in the communicator, is not in the part.
absl::StatusOr<SplitRanks> SplitRanksOf(const std::vector<std::string>& incarnations, int own,
                                        const Group& part);

// Checks the parts that the ranks of a communicator ask for, by rank; an empty part means none.
// Returns OK if they are disjoint and each rank is in its own part, else FAILED_PRECONDITION naming
// two ranks.
absl::Status CheckSplitRanks(const Group& group, const std::vector<SplitRanks>& parts);

// Returns every rank's part, by one collective of `group`. A rank that cannot take part passes its
// error as `own`.
absl::StatusOr<std::vector<SplitRanks>> ExchangeSplitRanks(const Group& group,
                                                           absl::string_view what,
                                                           const absl::StatusOr<SplitRanks>& own,
                                                           const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_BOOTSTRAP_SPLIT_RANKS_H_
