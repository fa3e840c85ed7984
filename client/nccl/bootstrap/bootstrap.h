#ifndef MUSTER_CLIENT_NCCL_BOOTSTRAP_BOOTSTRAP_H_
#define MUSTER_CLIENT_NCCL_BOOTSTRAP_BOOTSTRAP_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/nccl/communicator/handle.h"
#include "client/nccl/communicator/stop_board.h"
#include "client/src/base/deadline.h"
#include "muster/group.h"
#include "muster/nccl.h"

namespace muster::internal {

// Creates an NCCL communicator over a group, as a collective of it. All ranks succeed, or none
// does. The errors are those of NcclCommunicator::Create().
//
//   1. Peer infos: every rank learns every rank's GPU, NCCL version, and error so far.
//   2. The ids, by a collective of the group. So they are bound to its epoch and its sequence
//      number, and are never used twice.
//   3. A barrier, because the listener behind an id waits for all ranks without a time-out. Each
//      rank opens its StopBoard before it.
//   4. Initialization in NCCL's own threads, polled, so that a deadline or a loss can end it.
//   5. Every rank's outcome, because NCCL alone does not say which rank failed. A part of the
//      time-out is kept for this.
//
// `prepare` runs once the device is current. If it fails on one rank, Bootstrap() fails on all.
absl::StatusOr<std::shared_ptr<NcclHandle>> Bootstrap(const Group& group,
                                                      const NcclOptions& options,
                                                      absl::FunctionRef<absl::Status()> prepare);

// Runs `initialize`, which makes `handle` ready, and agrees on the outcome with all ranks of
// `group`: steps 4 and 5 above. All ranks must call it. `handle` is null on a rank that gets no
// communicator. Discards `handle` on an error.
absl::Status InitializeOnAllRanks(
    const Group& group, NcclHandle* handle, absl::string_view what, const Deadline& deadline,
    absl::FunctionRef<absl::Status(const Deadline& deadline)> initialize);

// Opens the board that belongs to `secret` (StopBoard::NameOf()). Returns null, and logs a line, if
// this rank cannot share memory with others.
std::unique_ptr<StopBoard> OpenStopBoard(absl::string_view secret);

// Returns FAILED_PRECONDITION if the environment or one of NCCL's configuration files has a
// variable with which this library cannot work: see CheckNcclVariables().
absl::Status CheckNcclEnvironment();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_BOOTSTRAP_BOOTSTRAP_H_
