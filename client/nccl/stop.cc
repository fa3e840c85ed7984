#include "client/nccl/stop.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/nccl/errors.h"
#include "client/nccl/features.h"
#include "client/nccl/pace.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

using Handles = std::vector<std::shared_ptr<NcclHandle>>;

// Callers give a communicator back within some polls of NCCL after its end.
constexpr absl::Duration kSeizeWait = absl::Seconds(1);

// Those of `handles` that no thread is inside of, after a while.
Handles SeizeAll(Handles handles) {
  Handles seized;
  const SteadyTime deadline = After(SteadyClock::now(), kSeizeWait);
  for (Pace pace; !handles.empty() && SteadyClock::now() < deadline; pace.Pause()) {
    const auto busy =
        std::partition(handles.begin(), handles.end(),
                       [](const std::shared_ptr<NcclHandle>& one) { return one->Seize(); });
    std::move(handles.begin(), busy, std::back_inserter(seized));
    handles.erase(handles.begin(), busy);
  }
  return seized;
}

void Warn(const NcclHandle& handle, absl::string_view what, ncclResult_t result) {
  Log(LogLevel::kWarning, NcclStatus(handle.Title(what), result).ToString());
}

#if MUSTER_NCCL_HAS_REVOKE

// A launch takes microseconds. One that takes longer waits for a peer.
constexpr absl::Duration kSettleWait = absl::Milliseconds(100);

ncclResult_t StateOf(const NcclHandle& handle) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t called = ncclCommGetAsyncError(handle.comm(), &state);
  return called == ncclSuccess ? state : called;
}

// Whether NCCL is through, without an error, with what was last called.
bool Settles(const NcclHandle& handle, SteadyTime deadline) {
  ncclResult_t state = StateOf(handle);
  for (Pace pace; state == ncclInProgress && SteadyClock::now() < deadline; pace.Pause()) {
    state = StateOf(handle);
  }
  return state == ncclSuccess;
}

bool Revoke(const NcclHandle& handle, SteadyTime settle_deadline) {
  if (!handle.CanRevoke() || !Settles(handle, settle_deadline)) return false;
  const ncclResult_t result = ncclCommRevoke(handle.comm(), NCCL_REVOKE_DEFAULT);
  if (result == ncclSuccess || result == ncclInProgress) return true;
  Warn(handle, "revoking the communicator", result);
  return false;
}

bool IsRevoked(const NcclHandle& handle) { return StateOf(handle) != ncclInProgress; }

// Begins to revoke all that can be, and returns the others.
Handles RevokeAll(const Handles& handles) {
  Handles revoked = handles;
  const SteadyTime settle_deadline = After(SteadyClock::now(), kSettleWait);
  const auto refused = std::stable_partition(
      revoked.begin(), revoked.end(), [settle_deadline](const std::shared_ptr<NcclHandle>& one) {
        return Revoke(*one, settle_deadline);
      });
  const Handles others(refused, revoked.end());
  revoked.erase(refused, revoked.end());
  const SteadyTime deadline = After(SteadyClock::now(), NcclHandle::kStopWait);
  for (Pace pace; !revoked.empty() && SteadyClock::now() < deadline; pace.Pause()) {
    const auto stopped =
        std::partition(revoked.begin(), revoked.end(),
                       [](const std::shared_ptr<NcclHandle>& one) { return !IsRevoked(*one); });
    std::for_each(stopped, revoked.end(),
                  [](const std::shared_ptr<NcclHandle>& one) { one->MarkStopped(false); });
    revoked.erase(stopped, revoked.end());
  }
  // What is left is never marked as stopped: it is leaked, since freeing it could block for ever.
  return others;
}

#else

Handles RevokeAll(const Handles& handles) { return handles; }

#endif  // MUSTER_NCCL_HAS_REVOKE

void AbortAll(const Handles& handles) {
  if (handles.empty()) return;
  ncclGroupStart();
  for (const std::shared_ptr<NcclHandle>& handle : handles) {
    const ncclComm_t comm = handle->Take();
    if (comm == nullptr) continue;  // it was never created
    const ncclResult_t result = ncclCommAbort(comm);
    if (result != ncclSuccess) Warn(*handle, "aborting the communicator", result);
  }
  const ncclResult_t result = ncclGroupEnd();
  if (result != ncclSuccess) Warn(*handles.front(), "aborting communicators", result);
  for (const std::shared_ptr<NcclHandle>& handle : handles) handle->MarkStopped(true);
}

}  // namespace

bool StopTogether(const Handles& handles) {
  const Handles seized = SeizeAll(handles);
  if (seized.empty()) return false;
  // NCCL restores the current device after its calls. A new thread's is the first GPU, which that
  // would open, although the process may use another one.
  cudaSetDevice(seized.front()->device().index);
  AbortAll(RevokeAll(seized));
  return true;
}

}  // namespace muster::internal
