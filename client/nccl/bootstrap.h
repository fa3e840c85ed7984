#ifndef MUSTER_CLIENT_NCCL_BOOTSTRAP_H_
#define MUSTER_CLIENT_NCCL_BOOTSTRAP_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/nccl/handle.h"
#include "client/nccl/stop_board.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"
#include "muster/nccl.h"

namespace muster::internal {

// Creates an NCCL communicator over a group: a collective of it. All ranks succeed, or none does.
// See NcclCommunicator::Create() for the errors.
//
//   1. Peer infos: every rank learns of everybody's GPU and NCCL, and of errors so far.
//   2. The ids, as a collective of the group: bound to its epoch and its sequence, never used
//   twice.
//   3. A barrier, because the listener behind an id waits without a time-out for all ranks. Each
//   opens its StopBoard before it.
//   4. Initialization in NCCL's own threads, polled, so that a deadline or a loss can end it.
//   5. Everybody's outcome, because NCCL alone does not say who failed. A part of the time-out is
//      kept for this.
//
// `prepare` runs once the device is current; its error, too, is everybody's.
absl::StatusOr<std::shared_ptr<NcclHandle>> Bootstrap(const Group& group,
                                                      const NcclOptions& options,
                                                      absl::FunctionRef<absl::Status()> prepare);

// Runs `initialize`, which is to make `handle` ready (null: this rank gets none), and agrees on the
// outcome with all ranks of `group`, who do the same. Steps 4 and 5 of the above. An error discards
// `handle`.
absl::Status InitializeTogether(
    const Group& group, NcclHandle* handle, absl::string_view what, const Deadline& deadline,
    absl::FunctionRef<absl::Status(const Deadline& deadline)> initialize);

// The board that goes with `secret` (StopBoard::NameOf()); null, and a line in the log, if this
// rank cannot share memory with others.
std::unique_ptr<StopBoard> OpenStopBoard(absl::string_view secret);

// FAILED_PRECONDITION if a variable, in the environment or in a file of NCCL's, makes NCCL do what
// this library cannot bear.
absl::Status CheckNcclEnvironment();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_BOOTSTRAP_H_
