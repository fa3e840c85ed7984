#ifndef MUSTER_CLIENT_NCCL_AGREEMENT_H_
#define MUSTER_CLIENT_NCCL_AGREEMENT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"

namespace muster::internal {

// NcclCommunicator::Split(), as errors and as messages of the job name it.
inline constexpr char kSplitting[] = "splitting the communicator";
inline constexpr char kSplitCall[] = "NcclCommunicator::Split";

// The part of a time-out that is kept for Agree(): NCCL alone does not tell who failed.
absl::Duration ReserveOf(absl::Duration timeout);

// What a rank returns of work that has to succeed on all ranks (`what`: "initializing NCCL"), from
// everybody's outcome in the group's order. OK only if all are. Else its own error, unless another
// rank's explains it: an error of a rank's own making comes before a broken connection, and that
// before a time-out.
absl::Status JoinOutcomes(const Group& group, absl::string_view what,
                          const std::vector<absl::Status>& outcomes);

// Tells all ranks this one's outcome, in one collective of the group, and returns as above. A rank
// that has failed waits for the others for `reserve` at most. Errors of Group: a lost member, or
// DEADLINE_EXCEEDED naming the ranks that did not get so far.
absl::Status Agree(const Group& group, absl::string_view what, const absl::Status& own,
                   absl::Duration reserve, const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_AGREEMENT_H_
