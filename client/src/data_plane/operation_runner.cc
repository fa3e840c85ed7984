#include "client/src/data_plane/operation_runner.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/deadline.h"
#include "client/src/base/error_note.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/data_plane/communicator_name.h"
#include "client/src/data_plane/started_calls.h"
#include "common/memory/activity_publisher.h"

namespace muster::internal {
namespace {

PendingOperation Ended(absl::Status status) {
  auto call = std::make_shared<StartedCall>();
  call->status = std::move(status);
  call->ended.Notify();
  return PendingOperation(std::move(call));
}

}  // namespace

OperationRunner::OperationRunner(const Group& group, const CommunicatorOptions& options,
                                 std::unique_ptr<Backend> backend)
    : group_(group),
      options_(options),
      backend_(std::move(backend)),
      process_(getpid()),
      started_(std::make_unique<StartedCalls>()),
      activity_(std::make_unique<ActivityPublisher>(NextCommunicatorName(group))),
      failure_(group_.OnFailure([this](const absl::Status& why) { Fail(why); })) {}

// In a fork, the threads do not exist, locks may be held for ever, and the connections are the
// parent's. So nothing that could touch them is destroyed.
OperationRunner::~OperationRunner() {
  if (getpid() == process_) return;
  static_cast<void>(started_.release());
  static_cast<void>(backend_.release());
  static_cast<void>(activity_.release());
  static_cast<void>(new Subscription(std::move(failure_)));
}

void OperationRunner::Finish() {
  if (getpid() == process_) started_->Finish();
}

std::string OperationRunner::Describe(absl::string_view operation) const {
  return absl::StrCat(operation, " on rank ", group_.rank(), " of ", group_.size());
}

absl::Status OperationRunner::CheckProcess(absl::string_view operation) const {
  const pid_t process = getpid();
  if (process == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Describe(operation), ": process ", process, " is a fork of process ", process_,
      ", which created this communicator; it works only there, so start programs by exec"));
}

// ---- Operations ----

absl::Status OperationRunner::RunCollective(absl::string_view operation, size_t bytes,
                                            const OwnValue& own, const CallOptions& options,
                                            BackendCall call) {
  const auto alone = [&own](Backend& backend, const CallOptions& resolved) {
    return own.from == own.to ? absl::OkStatus()
                              : backend.Copy(own.from, own.to, own.bytes, resolved);
  };
  // Only collectives are published. Reports compare ranks by the numbers of their operations, and
  // the numbers of messages differ between ranks.
  return Run(operation, options, [&](Backend& backend, const CallOptions& resolved) {
    activity_->Begin({operation.data(), operation.size()}, bytes);
    absl::Status status =
        group_.prevents_block() ? alone(backend, resolved) : call(backend, resolved);
    activity_->End();
    return status;
  });
}

absl::Status OperationRunner::Run(absl::string_view operation, const CallOptions& options,
                                  BackendCall call) {
  const ArgumentCheck check(operation, group_.rank(), group_.size());
  if (absl::Status status = check.Timeout(options.timeout); !status.ok()) return status;
  if (absl::Status status = CheckProcess(operation); !status.ok()) return status;
  CallOptions resolved = options;
  if (!resolved.timeout) resolved.timeout = options_.timeout;
  const Deadline deadline(*resolved.timeout, resolved.cancellation);
  AwaitStarted(operation, &resolved);
  if (absl::Status status = Enter(operation); !status.ok()) return status;
  // Start() has already called Follow() for what it started.
  const absl::Status followed =
      started_->IsOwnThread() ? absl::OkStatus() : backend_->Follow(options.stream);
  return Leave(followed.ok() ? deadline.NameWhole(call(*backend_, resolved), *resolved.timeout)
                             : followed);
}

absl::Status OperationRunner::Copy(const void* from, void* to, size_t bytes,
                                   const CallOptions& options) {
  CallOptions resolved = options;
  if (!resolved.timeout) resolved.timeout = options_.timeout;
  const absl::Status followed = backend_->Follow(options.stream);
  return followed.ok() ? backend_->Copy(from, to, bytes, resolved) : followed;
}

// Makes a call from outside wait for all started calls, within its own time-out and until it is
// cancelled.
void OperationRunner::AwaitStarted(absl::string_view operation, CallOptions* options) {
  if (started_->IsOwnThread() || started_->IsEmpty()) return;
  const Deadline deadline(*options->timeout, options->cancellation);
  const absl::Status awaited = started_->AwaitAll(deadline);
  const std::string what = Describe(operation);
  constexpr absl::string_view kStarted = "for what Start() had begun before";
  if (absl::IsCancelled(awaited)) {
    Fail(absl::CancelledError(absl::StrCat(what, " was cancelled while it waited ", kStarted)));
  } else if (!awaited.ok()) {
    Fail(absl::DeadlineExceededError(
        absl::StrCat(what, " waited ", absl::FormatDuration(deadline.timeout()), " ", kStarted,
                     "; all ranks must start and call the same in the same order")));
  }
  options->timeout = deadline.Left();
}

absl::Status OperationRunner::Enter(absl::string_view operation) {
  absl::MutexLock lock(&mutex_);
  if (!end_.ok()) return end_;
  if (busy_) {
    return absl::FailedPreconditionError(
        absl::StrCat(Describe(operation),
                     ": another call on this communicator is in progress; make one call at a "
                     "time, or create a communicator for each thread"));
  }
  busy_ = true;
  return absl::OkStatus();
}

absl::Status OperationRunner::Leave(absl::Status result) {
  absl::MutexLock lock(&mutex_);
  busy_ = false;
  if (result.ok()) return result;
  if (end_.ok()) end_ = std::move(result);
  return end_;
}

void OperationRunner::Fail(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (end_.ok()) end_ = why;
  }
  backend_->Abort(why);
}

// ---- Started calls ----

PendingOperation OperationRunner::Start(std::function<absl::Status()> calls, void* stream) {
  absl::Status status = CheckProcess("Start");
  if (status.ok() && started_->IsOwnThread()) {
    status = absl::FailedPreconditionError(absl::StrCat(
        Describe("Start"),
        ": called inside a function that Start() runs; call the operations there directly"));
  }
  if (status.ok() && group_.prevents_block()) return Ended(RunStarted(calls));
  if (status.ok()) status = backend_->Follow(stream);
  if (!status.ok()) return Ended(std::move(status));
  auto call = started_->Start(std::move(calls));
  if (call.ok()) return PendingOperation(*std::move(call));
  return Ended(
      Reworded(call.status(), absl::StrCat(Describe("Start"), ": ", call.status().message())));
}

}  // namespace muster::internal
