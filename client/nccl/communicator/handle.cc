#include "client/nccl/communicator/handle.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/nccl/communicator/poll_pacer.h"
#include "client/nccl/communicator/stopper.h"
#include "client/nccl/device/errors.h"
#include "client/nccl/device/nccl_types.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

absl::Status Expired(absl::string_view title, const Deadline& deadline, absl::StatusCode code) {
  if (code == absl::StatusCode::kCancelled) {
    return absl::CancelledError(absl::StrCat(title, " was cancelled"));
  }
  const std::string last = LastNcclError();
  return absl::DeadlineExceededError(absl::StrCat(
      title, " did not end within ", absl::FormatDuration(deadline.timeout()),
      last.empty() ? "" : absl::StrCat("; NCCL's last error in this process: ", last)));
}

std::vector<std::string> IncarnationsOf(const Group& group) {
  std::vector<std::string> incarnations;
  for (int i = 0; i < group.size(); ++i) incarnations.push_back(group.member(i).incarnation);
  return incarnations;
}

}  // namespace

absl::Status CallGuarded(absl::string_view function, absl::FunctionRef<absl::Status()> calls) {
  try {
    return calls();
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat("the function given to ", function, " threw: ", error.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat("the function given to ", function,
                                            " threw something other than a std::exception"));
  }
}

std::shared_ptr<NcclHandle> NcclHandle::Open(const Group& group, const Device& device,
                                             absl::Duration timeout, int split_share,
                                             std::unique_ptr<StopBoard> board) {
  return Join(std::shared_ptr<NcclHandle>(new NcclHandle(
      group, device, timeout, split_share, std::make_shared<NcclFamily>(), std::move(board))));
}

std::shared_ptr<NcclHandle> NcclHandle::OpenChild(const Group& group,
                                                  std::unique_ptr<StopBoard> board) const {
  bool shares;
  {
    absl::MutexLock lock(&mutex_);
    shares = shares_with_children_;
  }
  return Join(std::shared_ptr<NcclHandle>(
      new NcclHandle(group, device_, timeout_, shares ? 1 : split_share_,
                     shares ? family_ : std::make_shared<NcclFamily>(), std::move(board))));
}

std::shared_ptr<NcclHandle> NcclHandle::Join(std::shared_ptr<NcclHandle> handle) {
  handle->family_->Add(handle);
  Stopper::Get().Add(handle);
  handle->failure_ = handle->group_.OnFailure([raw = handle.get()](const absl::Status& why) {
    if (raw->MarkFailed(nullptr, why)) Stopper::Get().Wake();
  });
  return handle;
}

NcclHandle::NcclHandle(const Group& group, const Device& device, absl::Duration timeout,
                       int split_share, std::shared_ptr<NcclFamily> family,
                       std::unique_ptr<StopBoard> board)
    : group_(group),
      device_(device),
      timeout_(timeout),
      rank_(group.rank()),
      size_(group.size()),
      description_(absl::StrCat(DescribePeer(group, group.rank()), " with ", device.Describe())),
      incarnations_(IncarnationsOf(group)),
      split_share_(split_share),
      family_(std::move(family)),
      board_(std::move(board)) {}

ncclComm_t NcclHandle::comm() const {
  absl::MutexLock lock(&mutex_);
  return comm_;
}

std::string NcclHandle::Title(absl::string_view what) const {
  return absl::StrCat(what, " on ", description_);
}

absl::Status NcclHandle::CheckProcess() const {
  if (getpid() == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("process ", getpid(), " is a fork of process ", process_,
                   ", which created this communicator; NCCL works only in the latter"));
}

absl::Status NcclHandle::Acquire(absl::string_view what, const Deadline& deadline) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  const auto available = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !FamilyHealth().ok() || owner_ == std::thread::id();
  };
  absl::MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(&available), deadline.Left())) {
    return absl::DeadlineExceededError(
        absl::StrCat(Title(what), " waited ", absl::FormatDuration(deadline.timeout()),
                     " for another thread's call on this communicator"));
  }
  if (absl::Status end = FamilyHealth(); !end.ok()) return end;
  owner_ = std::this_thread::get_id();
  return absl::OkStatus();
}

void NcclHandle::Release() {
  {
    absl::MutexLock lock(&mutex_);
    owner_ = std::thread::id();
  }
  if (!FamilyHealth().ok()) Stopper::Get().Wake();
}

bool NcclHandle::InGroup() const {
  absl::MutexLock lock(&mutex_);
  return groups_ > 0 && owner_ == std::this_thread::get_id();
}

void NcclHandle::SetOperationDeadline(const std::optional<Deadline>& deadline) {
  absl::MutexLock lock(&mutex_);
  operation_deadline_ = deadline;
}

Deadline NcclHandle::OperationDeadline() const {
  absl::MutexLock lock(&mutex_);
  return operation_deadline_.value_or(Deadline(timeout_, nullptr));
}

// Returns the asynchronous state. Without a communicator, nothing can have failed.
ncclResult_t NcclHandle::AsyncResult() {
  if (comm_ == nullptr) return ncclSuccess;
  ncclResult_t state = ncclSuccess;
  const ncclResult_t called = ncclCommGetAsyncError(comm_, &state);
  return called == ncclSuccess ? state : called;
}

// Joins the completed call. NCCL 2.22 keeps the job of a call in the calling thread's memory until
// the communicator's next call joins it (src/group.cc, ncclGroupJobMain). That next call may come
// from another thread, or after the calling thread has ended. Every function that checks whether a
// communicator is ready joins the job; ncclCommCount is the cheapest.
void NcclHandle::JoinCompletedCall() {
  int ranks = 0;
  if (comm_ != nullptr) ncclCommCount(comm_, &ranks);
}

ncclResult_t NcclHandle::CallUnlocked(Call call) {
  ncclComm_t comm;
  {
    absl::MutexLock lock(&mutex_);
    calling_ = true;
    comm = comm_;
  }
  const ncclResult_t result = call(comm);
  absl::MutexLock lock(&mutex_);
  calling_ = false;
  return result;
}

absl::Status NcclHandle::Complete(absl::string_view what, const Deadline& deadline,
                                  ncclResult_t result) {
  if (result == ncclSuccess) result = ncclInProgress;
  for (PollPacer pace; result == ncclInProgress; pace.Pause()) {
    if (absl::Status end = health(); !end.ok()) return end;
    {
      absl::MutexLock lock(&mutex_);
      result = AsyncResult();
      if (result == ncclSuccess) JoinCompletedCall();
    }
    if (result != ncclInProgress) break;
    if (absl::Status expired = deadline.Check(); !expired.ok()) {
      return Expired(Title(what), deadline, expired.code());
    }
  }
  return result == ncclSuccess ? absl::OkStatus() : NcclStatus(Title(what), result);
}

absl::Status NcclHandle::Initialize(absl::string_view what, const Deadline& deadline,
                                    absl::FunctionRef<ncclResult_t(ncclComm_t*)> begin) {
  if (absl::Status status = Acquire(what, deadline); !status.ok()) return status;
  // Runs without the mutex, since it may take long. No other thread can know the communicator yet.
  ncclComm_t comm = nullptr;
  const ncclResult_t result = begin(&comm);
  {
    absl::MutexLock lock(&mutex_);
    comm_ = comm;
  }
  absl::Status status = Complete(what, deadline, result);
  if (status.ok()) {
    absl::MutexLock lock(&mutex_);
    ready_ = true;
    shares_with_children_ = SharesResources(split_share_);
  }
  Release();
  return status;
}

absl::Status NcclHandle::Run(absl::string_view what, const Deadline& deadline, Call call) {
  if (absl::Status status = Acquire(what, deadline); !status.ok()) return status;
  absl::Status status = Complete(what, deadline, CallUnlocked(call));
  Release();
  return status;
}

absl::Status NcclHandle::Operate(absl::string_view what, Call call) {
  return Operate(what, OperationDeadline(), call);
}

absl::Status NcclHandle::Operate(absl::string_view what, const Deadline& deadline, Call call) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  if (InGroup()) {
    if (absl::Status end = FamilyHealth(); !end.ok()) return end;
    const ncclResult_t result = CallUnlocked(call);
    return result == ncclSuccess || result == ncclInProgress ? absl::OkStatus()
                                                             : NcclStatus(Title(what), result);
  }
  absl::Status status = Run(what, deadline, call);
  return status.ok() ? status : End(status);
}

absl::Status NcclHandle::Grouped(absl::FunctionRef<absl::Status()> calls) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  constexpr absl::string_view kWhat = "a group of operations";
  const Deadline deadline = OperationDeadline();
  const bool outermost = !InGroup();
  if (outermost) {
    if (absl::Status status = Acquire(kWhat, deadline); !status.ok()) return End(status);
  }
  {
    absl::MutexLock lock(&mutex_);
    ++groups_;
  }
  ncclGroupStart();
  absl::Status status = CallGuarded("Grouped", calls);
  // Calls that `calls` began cannot be taken back, so the group is launched even after an error or
  // an exception, and then stopped at once. A group left open would swallow all later calls of this
  // thread, on any communicator, and never launch them.
  const ncclResult_t result = CallUnlocked([](ncclComm_t) { return ncclGroupEnd(); });
  {
    absl::MutexLock lock(&mutex_);
    --groups_;
  }
  if (!outermost) return status;
  if (status.ok()) status = Complete(kWhat, deadline, result);
  Release();
  return status.ok() ? status : End(status);
}

absl::Status NcclHandle::Poll(absl::string_view what) {
  if (absl::Status status = CheckProcess(); !status.ok()) return status;
  absl::MutexLock lock(&mutex_);
  if (absl::Status end = FamilyHealth(); !end.ok()) return end;
  if (absl::Status stopped = CheckPeers(what); !stopped.ok()) return stopped;
  if (calling_) return absl::OkStatus();  // NCCL allows no second thread
  const ncclResult_t result = AsyncResult();
  // ncclInProgress belongs to another thread's call.
  if (result == ncclSuccess || result == ncclInProgress) return absl::OkStatus();
  return NcclStatus(Title(what), result);
}

}  // namespace muster::internal
