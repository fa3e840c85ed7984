#include "client/nccl/stopper.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/nccl/errors.h"
#include "client/nccl/features.h"
#include "client/nccl/poll_pacer.h"
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
  for (PollPacer pace; !handles.empty() && SteadyClock::now() < deadline; pace.Pause()) {
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
  for (PollPacer pace; state == ncclInProgress && SteadyClock::now() < deadline; pace.Pause()) {
    state = StateOf(handle);
  }
  return state == ncclSuccess;
}

bool Revoke(const NcclHandle& handle, SteadyTime settle_deadline) {
  if (!handle.CanRevoke() || !Settles(handle, settle_deadline)) return false;
  const ncclResult_t result = ncclCommRevoke(handle.comm(), kNcclRevokeDefault);
  if (result == ncclSuccess || result == ncclInProgress) return true;
  Warn(handle, "revoking the communicator", result);
  return false;
}

bool IsRevoked(const NcclHandle& handle) { return StateOf(handle) != ncclInProgress; }

// Begins to revoke all that can be, and returns the others.
Handles RevokeAll(const Handles& handles) {
  if (!NcclHasRevoke()) return handles;
  Handles revoked = handles;
  const SteadyTime settle_deadline = After(SteadyClock::now(), kSettleWait);
  const auto refused = std::stable_partition(
      revoked.begin(), revoked.end(), [settle_deadline](const std::shared_ptr<NcclHandle>& one) {
        return Revoke(*one, settle_deadline);
      });
  const Handles others(refused, revoked.end());
  revoked.erase(refused, revoked.end());
  const SteadyTime deadline = After(SteadyClock::now(), NcclHandle::kStopWait);
  for (PollPacer pace; !revoked.empty() && SteadyClock::now() < deadline; pace.Pause()) {
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

// Stops communicators that have ended: by ncclCommRevoke, all of them before one is waited for, or,
// where NCCL cannot revoke, by ncclCommAbort of all in one NCCL group, which frees them too. Those
// that a thread is inside of and does not leave soon are left alone; false if they all are. Blocks;
// meant for a thread of its own.
//
// What NCCL (2.22 to 2.31, src/init.cc) does in these calls:
//   - ncclCommRevoke returns at once on a non-blocking communicator and works in a thread; it is
//     refused after ncclCommFinalize, and needs a communicator whose initialization has completed.
//   - ncclCommRevoke ends a call in progress by ncclCommEnsureReady, whose ncclGroupJobAbort frees
//     the group job of that call (src/group.cc) and leaves comm->groupJob pointing to it; the next
//     ncclCommGetAsyncError that finds no error uses it. Only an ncclCommGetAsyncError that says
//     ncclSuccess clears the pointer. So what does not say so soon is aborted: ncclCommAbort
//     goes the same way, but asks for no state afterwards.
//   - ncclCommAbort sets the abort flag, joins the thread of the call in progress, and frees. It
//     blocks even on a non-blocking communicator (a communicator that is being destroyed makes its
//     group a blocking one, src/group.cc), so for several ranks on one GPU, or several
//     communicators, it has to be within one group.
bool StopTogether(const Handles& handles) {
  const Handles seized = SeizeAll(handles);
  if (seized.empty()) return false;
  // NCCL restores the current device after its calls. A new thread's is the first GPU, which that
  // would open, although the process may use another one.
  cudaSetDevice(seized.front()->device().index);
  AbortAll(RevokeAll(seized));
  return true;
}

}  // namespace

Stopper& Stopper::Get() {
  static Stopper* const stopper = new Stopper;  // never destroyed: its thread may outlive main()
  return *stopper;
}

void Stopper::Add(std::shared_ptr<NcclHandle> handle) {
  absl::MutexLock lock(&mutex_);
  live_.push_back(std::move(handle));
}

void Stopper::Remove(const NcclHandle* handle) {
  if (!Erase(handle)) return;
  Wake();  // to look whether one is still left alone
}

bool Stopper::Erase(const NcclHandle* handle) {
  std::shared_ptr<NcclHandle> removed;  // destroyed outside the lock
  absl::MutexLock lock(&mutex_);
  const auto found =
      std::find_if(live_.begin(), live_.end(),
                   [&](const std::shared_ptr<NcclHandle>& one) { return one.get() == handle; });
  if (found == live_.end()) return false;
  removed = std::move(*found);
  live_.erase(found);
  return left_alone_;
}

void Stopper::Wake() {
  absl::MutexLock lock(&mutex_);
  woken_ = true;
  if (working_) return;
  working_ = true;
  std::thread([this] { Work(); }).detach();
}

bool Stopper::AwaitQuiet(SteadyTime deadline) {
  const auto quiet = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !working_ && !left_alone_;
  };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&quiet), Between(SteadyClock::now(), deadline));
}

void Stopper::Work() {
  while (true) {
    const std::vector<std::shared_ptr<NcclHandle>> batch = NextBatch();
    if (batch.empty()) return;
    const bool progress = StopTogether(batch);
    for (const std::shared_ptr<NcclHandle>& handle : batch) handle->FreeIfAbandoned();
    if (!progress && !GoOn()) return;
  }
}

bool Stopper::GoOn() {
  absl::MutexLock lock(&mutex_);
  working_ = woken_;
  left_alone_ = !woken_;
  return working_;
}

std::vector<std::shared_ptr<NcclHandle>> Stopper::NextBatch() {
  std::vector<std::shared_ptr<NcclHandle>> batch;
  absl::MutexLock lock(&mutex_);
  woken_ = false;
  // The loss of a member ends all communicators of its job, and their callbacks come one by one.
  std::copy_if(live_.begin(), live_.end(), std::back_inserter(batch),
               [](const std::shared_ptr<NcclHandle>& one) { return one->IsCondemned(); });
  working_ = !batch.empty();
  left_alone_ = false;
  return batch;
}

}  // namespace muster::internal
