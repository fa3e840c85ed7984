#include "client/nccl/handle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/nccl/errors.h"
#include "client/nccl/pace.h"
#include "client/nccl/stopper.h"
#include "client/nccl/types.h"
#include "client/src/peer_names.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

absl::Status Expired(absl::string_view title, const Patience& patience, absl::StatusCode code) {
  if (code == absl::StatusCode::kCancelled) {
    return absl::CancelledError(absl::StrCat(title, " was cancelled"));
  }
  const std::string last = LastNcclError();
  return absl::DeadlineExceededError(
      absl::StrCat(title, " did not end within ", absl::FormatDuration(patience.timeout()),
                   last.empty() ? "" : absl::StrCat("; NCCL's last error: ", last)));
}

std::vector<NcclHandle::Process> ProcessesOf(const Group& group) {
  std::vector<NcclHandle::Process> processes;
  for (int i = 0; i < group.size(); ++i) {
    processes.emplace_back(group.member(i).node_id, group.member(i).pid);
  }
  return processes;
}

}  // namespace

std::shared_ptr<NcclHandle> NcclHandle::Open(const Group& group, const Device& device,
                                             absl::Duration timeout) {
  const std::shared_ptr<NcclHandle> handle(new NcclHandle(group, device, timeout));
  Stopper::Get().Add(handle);
  handle->failure_ =
      group.OnFailure([raw = handle.get()](const absl::Status& why) { raw->Fail(why); });
  return handle;
}

NcclHandle::NcclHandle(const Group& group, const Device& device, absl::Duration timeout)
    : group_(group),
      device_(device),
      timeout_(timeout),
      rank_(group.rank()),
      size_(group.size()),
      self_(absl::StrCat(DescribePeer(group, group.rank()), " with ", device.Describe())),
      processes_(ProcessesOf(group)) {}

ncclComm_t NcclHandle::comm() const {
  absl::MutexLock lock(&mutex_);
  return comm_;
}

std::string NcclHandle::Title(absl::string_view what) const {
  return absl::StrCat(what, " on ", self_);
}

// ---- Calls ----

absl::Status NcclHandle::CheckProcess() const {
  if (getpid() == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("process ", getpid(), " is a fork of process ", process_,
                   ", which created this communicator; NCCL works only in the latter"));
}

absl::Status NcclHandle::Enter(absl::string_view what, const Patience& patience) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  const auto mine = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !end_.ok() || owner_ == std::thread::id();
  };
  absl::MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(&mine), patience.Left())) {
    return absl::DeadlineExceededError(
        absl::StrCat(Title(what), " waited ", absl::FormatDuration(patience.timeout()),
                     " for another thread's call on this communicator"));
  }
  if (!end_.ok()) return end_;
  owner_ = std::this_thread::get_id();
  return absl::OkStatus();
}

void NcclHandle::Leave() {
  absl::MutexLock lock(&mutex_);
  owner_ = std::thread::id();
}

bool NcclHandle::InGroup() const {
  absl::MutexLock lock(&mutex_);
  return groups_ > 0 && owner_ == std::this_thread::get_id();
}

void NcclHandle::LimitOperations(const std::optional<Patience>& patience) {
  absl::MutexLock lock(&mutex_);
  limit_ = patience;
}

Patience NcclHandle::OperationPatience() const {
  absl::MutexLock lock(&mutex_);
  return limit_.value_or(Patience(timeout_, nullptr));
}

ncclResult_t NcclHandle::AsyncResult() {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t called = ncclCommGetAsyncError(comm_, &state);
  return called == ncclSuccess ? state : called;
}

absl::Status NcclHandle::Complete(absl::string_view what, const Patience& patience,
                                  absl::FunctionRef<absl::Status()> watch, ncclResult_t result) {
  Pace pace;
  while (result == ncclInProgress) {
    if (absl::Status end = watch(); !end.ok()) return end;
    if (absl::Status expired = patience.Check(); !expired.ok()) {
      return Expired(Title(what), patience, expired.code());
    }
    pace.Pause();
    absl::MutexLock lock(&mutex_);
    result = AsyncResult();
  }
  return result == ncclSuccess ? absl::OkStatus() : NcclStatus(Title(what), result);
}

absl::Status NcclHandle::Initialize(absl::string_view what, const Patience& patience,
                                    absl::FunctionRef<ncclResult_t(ncclComm_t*)> begin) {
  if (absl::Status status = Enter(what, patience); !status.ok()) return status;
  // Not under the mutex, since it may take long: nobody else can know the communicator yet.
  ncclComm_t comm = nullptr;
  const ncclResult_t result = begin(&comm);
  {
    absl::MutexLock lock(&mutex_);
    comm_ = comm;
  }
  absl::Status status = Complete(
      what, patience, [this] { return health(); }, result);
  if (status.ok()) {
    absl::MutexLock lock(&mutex_);
    ready_ = true;
  }
  Leave();
  return status;
}

absl::Status NcclHandle::Run(absl::string_view what, const Patience& patience, Call call) {
  if (absl::Status status = Enter(what, patience); !status.ok()) return status;
  ncclResult_t result;
  {
    absl::MutexLock lock(&mutex_);
    result = call(comm_);
  }
  absl::Status status = Complete(
      what, patience, [this] { return health(); }, result);
  Leave();
  return status;
}

absl::Status NcclHandle::Operate(absl::string_view what, Call call) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  if (InGroup()) {
    absl::MutexLock lock(&mutex_);
    if (!end_.ok()) return end_;
    const ncclResult_t result = call(comm_);
    return result == ncclSuccess || result == ncclInProgress ? absl::OkStatus()
                                                             : NcclStatus(Title(what), result);
  }
  absl::Status status = Run(what, OperationPatience(), call);
  return status.ok() ? status : End(status);
}

absl::Status NcclHandle::Grouped(absl::FunctionRef<absl::Status()> calls) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  constexpr absl::string_view kWhat = "a group of operations";
  const Patience patience = OperationPatience();
  const bool outermost = !InGroup();
  if (outermost) {
    if (absl::Status status = Enter(kWhat, patience); !status.ok()) return End(status);
  }
  {
    absl::MutexLock lock(&mutex_);
    ++groups_;
  }
  ncclGroupStart();
  absl::Status status = calls();
  ncclResult_t result;
  {
    // What `calls` began cannot be taken back: after an error in it the group is launched too, and
    // stopped at once.
    absl::MutexLock lock(&mutex_);
    result = ncclGroupEnd();
    --groups_;
  }
  if (!outermost) return status;
  if (status.ok())
    status = Complete(
        kWhat, patience, [this] { return health(); }, result);
  Leave();
  return status.ok() ? status : End(status);
}

absl::Status NcclHandle::RunOnRevoked(absl::string_view what, const Patience& patience,
                                      absl::FunctionRef<absl::Status()> watch, Call call) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  if (!AwaitStopped(patience.deadline())) {
    return absl::DeadlineExceededError(absl::StrCat(Title(what), " waited ",
                                                    absl::FormatDuration(patience.timeout()),
                                                    " for NCCL to stop the communicator"));
  }
  ncclResult_t result;
  {
    absl::MutexLock lock(&mutex_);
    if (comm_ == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat(Title(what), ": NCCL ", NcclVersionText(NCCL_VERSION_CODE),
                       " could only abort the communicator, not revoke it; create a new one"));
    }
    result = call(comm_);
  }
  absl::Status status = Complete(what, patience, watch, result);
  if (!status.ok()) Reopen();
  return status;
}

// NCCL revokes only once, so what is still at work on it is ended by ncclCommAbort.
void NcclHandle::Reopen() {
  {
    absl::MutexLock lock(&mutex_);
    stage_ = Stage::kOpen;
    finalizing_ = true;
    owner_ = std::thread::id();
  }
  Stopper::Get().Wake();
}

absl::Status NcclHandle::Poll(absl::string_view what) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  absl::MutexLock lock(&mutex_);
  if (!end_.ok()) return end_;
  const ncclResult_t result = AsyncResult();
  // In progress: another thread's call.
  if (result == ncclSuccess || result == ncclInProgress) return absl::OkStatus();
  return NcclStatus(Title(what), result);
}

// ---- The end ----

absl::Status NcclHandle::health() const {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  absl::MutexLock lock(&mutex_);
  return end_;
}

bool NcclHandle::MarkFailed(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (why.ok() || !end_.ok() || stage_ == Stage::kFreed) return false;
  end_ = why;
  return true;
}

void NcclHandle::Fail(const absl::Status& why) {
  if (MarkFailed(why)) Stopper::Get().Wake();
}

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

absl::Status NcclHandle::End(const absl::Status& why) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  if (health().ok()) Fail(absl::IsUnavailable(why) ? ExplainBrokenPeer(group_, why) : why);
  const absl::Status end = health();
  if (AwaitStopped(SteadyClock::now() + absl::ToChronoNanoseconds(kStopWait))) return end;
  return absl::Status(
      end.code(),
      absl::StrCat(end.message(), "; NCCL has not stopped within ", absl::FormatDuration(kStopWait),
                   ", so buffers that were given to it may still be in use"));
}

absl::Status NcclHandle::Finalize(const Patience& patience) {
  return Run("finalizing the communicator", patience, [this](ncclComm_t comm) {
    mutex_.AssertHeld();
    finalizing_ = true;
    return ncclCommFinalize(comm);
  });
}

void NcclHandle::Close(const Patience& patience) {
  if (!CheckProcess().ok()) return;
  const bool healthy = health().ok();
  const absl::Status status = Finalize(patience);
  if (!status.ok()) Fail(status);
  failure_.Reset();
  if (healthy && !status.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("the communicator was stopped: ", status.ToString()));
  }
  if (status.ok()) {
    Destroy();
    Stopper::Get().Remove(this);
  } else {
    Free(SteadyClock::now() + absl::ToChronoNanoseconds(kStopWait));
  }
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
                                         health().ToString()));
    absl::MutexLock lock(&mutex_);
    abandoned_ = true;
  }
  Stopper::Get().Remove(this);
}

// After ncclCommFinalize or ncclCommRevoke has completed, neither of these waits for a peer
// (src/init.cc: commReclaim skips commDestroySync). ncclCommDestroy refuses a communicator whose
// connections have failed, an error that ncclCommRevoke leaves in place.
void NcclHandle::Destroy() {
  ncclResult_t state = ncclSuccess;
  ncclComm_t comm = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    if (comm_ == nullptr) return;  // ncclCommAbort has freed it
    state = AsyncResult();
    comm = std::exchange(comm_, nullptr);
  }
  const ScopedDevice current(device_.index);
  const ncclResult_t result = state == ncclSuccess ? ncclCommDestroy(comm) : ncclCommAbort(comm);
  if (result != ncclSuccess) {
    Log(LogLevel::kWarning, NcclStatus(Title("freeing the communicator"), result).ToString());
  }
}

void NcclHandle::FreeIfAbandoned() {
  {
    absl::MutexLock lock(&mutex_);
    if (!abandoned_ || stage_ != Stage::kStopped) return;
  }
  Destroy();
}

// ---- For the Stopper ----

bool NcclHandle::IsCondemned() {
  MarkFailed(group_.health());
  absl::MutexLock lock(&mutex_);
  return !end_.ok() && stage_ == Stage::kOpen;
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
  return ready_ && !finalizing_;
}

ncclComm_t NcclHandle::Take() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(comm_, nullptr);
}

void NcclHandle::MarkStopped(bool freed) {
  absl::MutexLock lock(&mutex_);
  stage_ = freed ? Stage::kFreed : Stage::kStopped;
}

}  // namespace muster::internal
