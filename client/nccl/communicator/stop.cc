#include "client/nccl/communicator/stop.h"

#include <string>

#include "client/nccl/communicator/poll_pacer.h"
#include "client/nccl/device/errors.h"
#include "client/nccl/device/features.h"
#include "client/src/base/error_note.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

// The time that a launch in progress gets to complete. It takes microseconds, unless it waits for a
// peer.
constexpr absl::Duration kSettleWait = absl::Milliseconds(100);

void Warn(const NcclHandle& handle, absl::string_view what, ncclResult_t result) {
  Log(LogLevel::kWarning, CodeAndText(NcclStatus(handle.Title(what), result)));
}

ncclResult_t StateOf(const NcclHandle& handle) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t called = ncclCommGetAsyncError(handle.comm(), &state);
  return called == ncclSuccess ? state : called;
}

// Returns the asynchronous state once it is not ncclInProgress, or at the deadline.
ncclResult_t AwaitState(const NcclHandle& handle, SteadyTime deadline) {
  ncclResult_t state = StateOf(handle);
  for (PollPacer pace; state == ncclInProgress && SteadyClock::now() < deadline; pace.Pause()) {
    state = StateOf(handle);
  }
  return state;
}

// Revokes the communicator. Returns ncclInvalidUsage if it cannot be revoked. The wait has no
// deadline, because a revocation frees memory, which may wait for any kernel on the GPU. No caller
// waits for this thread without a deadline.
ncclResult_t Revoke(const NcclHandle& handle) {
  if (!NcclHasRevoke() || !handle.CanRevoke()) return ncclInvalidUsage;
  if (AwaitState(handle, After(SteadyClock::now(), kSettleWait)) != ncclSuccess)
    return ncclInvalidUsage;
  const ncclResult_t result = ncclCommRevoke(handle.comm(), kNcclRevokeDefault);
  const bool begun = result == ncclSuccess || result == ncclInProgress;
  const ncclResult_t state = begun ? AwaitState(handle, SteadyTime::max()) : result;
  if (state != ncclSuccess) Warn(handle, "revoking the communicator", state);
  return state;
}

void Abort(NcclHandle& handle) {
  const ncclComm_t comm = handle.ReleaseComm();
  const ncclResult_t result = comm == nullptr ? ncclSuccess : ncclCommAbort(comm);
  if (result == ncclSuccess) return handle.MarkStopped(/*freed=*/true);
  Warn(handle, "aborting the communicator", result);
}

}  // namespace

void StopCommunicator(NcclHandle& handle) {
  handle.AnnounceStop();
  handle.DelayForOtherNodes();
  if (Revoke(handle) == ncclSuccess) return handle.MarkStopped(/*freed=*/false);
  Abort(handle);
}

}  // namespace muster::internal
