#ifndef MUSTER_CLIENT_NCCL_BOOTSTRAP_AGREEMENT_H_
#define MUSTER_CLIENT_NCCL_BOOTSTRAP_AGREEMENT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"

namespace muster::internal {

// The name of NcclCommunicator::Split() in errors and in the job's messages.
inline constexpr char kSplitting[] = "splitting the communicator";
inline constexpr char kSplitCall[] = "NcclCommunicator::Split";

// Returns the part of a time-out that is kept for AgreeOnOutcome(). Needed because NCCL alone does
// not tell which rank failed.
absl::Duration AgreementReserve(absl::Duration timeout);

// Returns the status with which this rank ends work (`what`: "initializing NCCL") that must succeed
// on all ranks. `outcomes` has every rank's outcome, in the group's order. OK only if all are OK.
// Otherwise this rank's own error, unless another rank's error explains it better. The best
// explanation is an error that a rank caused itself, then a broken connection, then a time-out.
absl::Status CombineOutcomes(const Group& group, absl::string_view what,
                             const std::vector<absl::Status>& outcomes);

// Sends this rank's outcome to all ranks, in one collective of the group, and returns
// CombineOutcomes(). If this rank has failed, it waits for the others for at most `reserve`. Other
// errors are Group's: a lost member, or DEADLINE_EXCEEDED naming the ranks that did not get so far.
absl::Status AgreeOnOutcome(const Group& group, absl::string_view what, const absl::Status& own,
                            absl::Duration reserve, const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_BOOTSTRAP_AGREEMENT_H_
