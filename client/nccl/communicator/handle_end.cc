#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/nccl/communicator/free.h"
#include "client/nccl/communicator/handle.h"
#include "client/nccl/communicator/stopper.h"
#include "client/nccl/device/errors.h"
#include "client/src/base/error_note.h"
#include "client/src/data_plane/broken_peers.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

// The daemon tells all members of a loss within some milliseconds of each other.
constexpr absl::Duration kOtherNodesDelay = absl::Milliseconds(100);

}  // namespace

absl::Status NcclHandle::health() const {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  return FamilyHealth();
}

bool NcclHandle::MarkFailed(const NcclHandle* first, const absl::Status& why) {
  return family_->End(first, why);
}

void NcclHandle::Fail(const absl::Status& why) {
  if (MarkFailed(this, why)) Stopper::Get().Wake();
}

// Waiting threads evaluate their conditions again when the lock is released.
void NcclHandle::NotifyEnd() { const absl::MutexLock lock(&mutex_); }

bool NcclHandle::AwaitStopped(SteadyTime deadline) const {
  const auto stopped = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stage_ == Stage::kStopped || stage_ == Stage::kFreed;
  };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&stopped), Between(SteadyClock::now(), deadline));
}

bool NcclHandle::IsQuiet() const {
  if (!CheckProcess().ok()) return false;
  absl::MutexLock lock(&mutex_);
  if (stage_ == Stage::kOpen) return comm_ == nullptr;
  return stage_ != Stage::kSeized;
}

absl::Status NcclHandle::CheckPeers(absl::string_view what) const {
  const auto stop = board_ == nullptr ? std::nullopt : board_->First();
  if (!stop || stop->rank == rank_ || stop->rank >= size_) return absl::OkStatus();
  // Keeps DEADLINE_EXCEEDED. Ranks usually have the same time-out, and the rank whose time is up
  // first must not change the other ranks' code.
  const bool too_late = stop->why == absl::StatusCode::kDeadlineExceeded;
  const absl::Status error(
      too_late ? absl::StatusCode::kDeadlineExceeded : absl::StatusCode::kUnavailable,
      absl::StrCat(Title(what), ": ", DescribePeer(group_, stop->rank),
                   " has stopped NCCL for this communicator (", absl::StatusCodeToString(stop->why),
                   " there), so the result here is not valid"));
  return WithMember(group_, stop->rank, error);
}

// Trusts the board: a peer that stopped NCCL for another reason has asked the coordinator already.
bool NcclHandle::MayHaveLostPeer(const absl::Status& why) const {
  const auto stop = board_ == nullptr ? std::nullopt : board_->First();
  return MayBeLostPeer(why) && (!stop || stop->why == absl::StatusCode::kAborted);
}

absl::Status NcclHandle::End(const absl::Status& why) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  if (health().ok() && MayHaveLostPeer(why)) {
    const absl::Status explained = ExplainBrokenPeer(group_, why, OperationDeadline().Remaining());
    MarkFailed(explained == group_.health() ? nullptr : this, explained);
  }
  MarkFailed(this, why);
  Stopper::Get().Wake();
  const absl::Status end = health();
  if (AwaitStopped(SteadyClock::now() + absl::ToChronoNanoseconds(kStopWait))) return end;
  return Reworded(end, absl::StrCat(end.message(), "; NCCL has not stopped within ",
                                    absl::FormatDuration(kStopWait),
                                    ", so buffers that were given to it may still be in use"));
}

absl::Status NcclHandle::Finalize(const Deadline& deadline) {
  return Run("finalizing the communicator", deadline, [this](ncclComm_t comm) {
    {
      absl::MutexLock lock(&mutex_);
      finalizing_ = true;
    }
    return ncclCommFinalize(comm);
  });
}

void NcclHandle::Close(const Deadline& deadline) {
  if (!CheckProcess().ok()) return;
  const bool healthy = health().ok();
  const absl::Status status = Finalize(deadline);
  if (!status.ok()) Fail(status);
  failure_.Reset();
  if (healthy && !status.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("the communicator was stopped: ", CodeAndText(status)));
  }
  if (status.ok()) {
    Destroy();
    Stopper::Get().Remove(this);
  } else {
    Free(SteadyClock::now() + absl::ToChronoNanoseconds(kStopWait));
  }
}

// Stops this object first, while it has no communicator, since the Stopper may be stopping it
// already.
bool NcclHandle::TakeOver(ncclComm_t comm, const absl::Status& why, SteadyTime deadline) {
  Fail(why);
  if (!AwaitStopped(deadline)) return false;
  {
    absl::MutexLock lock(&mutex_);
    comm_ = comm;
    stage_ = Stage::kOpen;
    owner_ = std::thread::id();
  }
  Stopper::Get().Wake();
  return true;
}

void NcclHandle::Discard(const absl::Status& why, SteadyTime deadline) {
  Fail(why);
  failure_.Reset();
  Free(deadline);
}

void NcclHandle::Free(SteadyTime deadline) {
  if (AwaitStopped(deadline) && Stopper::Get().AwaitQuiet(deadline)) {
    Destroy();
  } else {
    Log(LogLevel::kWarning, absl::StrCat(Title("the communicator"),
                                         " is freed later, if ever: NCCL has not stopped yet; it "
                                         "ended with: ",
                                         CodeAndText(health())));
    {
      absl::MutexLock lock(&mutex_);
      abandoned_ = true;
    }
    FreeIfAbandoned();  // it may have stopped in this moment
  }
  Stopper::Get().Remove(this);
}

// Frees the communicator on another thread. After ncclCommFinalize or ncclCommRevoke has completed,
// neither ncclCommDestroy nor ncclCommAbort waits for a peer (src/init.cc: commReclaim skips
// commDestroySync), but both free device memory. ncclCommDestroy rejects a communicator whose
// connections have failed. Since ncclCommRevoke leaves that error in place, ncclCommAbort follows.
void NcclHandle::Destroy() {
  ncclResult_t state = ncclSuccess;
  ncclComm_t comm = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (comm_ == nullptr) return;  // ncclCommAbort has freed it
    state = AsyncResult();
    comm = std::exchange(comm_, nullptr);
  }
  if (state != ncclSuccess) AnnounceStop();
  FreeOnDevice(device_.index, Title("the communicator"), [comm, state, title = Title("freeing")] {
    const ncclResult_t result = state == ncclSuccess ? ncclCommDestroy(comm) : ncclCommAbort(comm);
    if (result != ncclSuccess) Log(LogLevel::kWarning, CodeAndText(NcclStatus(title, result)));
  });
}

void NcclHandle::FreeIfAbandoned() {
  {
    absl::MutexLock lock(&mutex_);
    if (!abandoned_ || stage_ != Stage::kStopped) return;
  }
  Destroy();
}

bool NcclHandle::NeedsStop() {
  MarkFailed(nullptr, group_.health());
  absl::MutexLock lock(&mutex_);
  return !FamilyHealth().ok() && stage_ == Stage::kOpen;
}

bool NcclHandle::Seize() {
  absl::MutexLock lock(&mutex_);
  if (owner_ != std::thread::id()) return false;
  owner_ = std::this_thread::get_id();
  stage_ = Stage::kSeized;
  return true;
}

bool NcclHandle::CanRevoke() const {
  absl::MutexLock lock(&mutex_);
  return ready_ && !finalizing_ && !family_->IsShared();
}

ncclComm_t NcclHandle::ReleaseComm() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(comm_, nullptr);
}

void NcclHandle::AnnounceStop() { family_->AnnounceStop(); }

void NcclHandle::AnnounceOwnStop() {
  if (board_ == nullptr) return;
  const absl::StatusCode why = health().code();
  board_->Announce(rank_, why == absl::StatusCode::kOk ? absl::StatusCode::kUnknown : why);
}

void NcclHandle::DelayForOtherNodes() const {
  if (group_.health().ok()) return;
  const std::string& node = group_.member(rank_).node_id;
  for (int i = 0; i < size_; ++i) {
    if (group_.member(i).node_id != node) return absl::SleepFor(kOtherNodesDelay);
  }
}

void NcclHandle::MarkStopped(bool freed) {
  absl::MutexLock lock(&mutex_);
  stage_ = freed ? Stage::kFreed : Stage::kStopped;
}

}  // namespace muster::internal
