#include "client/src/data_plane/started_calls.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/cancel_watch.h"
#include "common/process/start_thread.h"

namespace muster {

PendingOperation::PendingOperation(std::shared_ptr<internal::StartedCall> call)
    : call_(std::move(call)) {}

PendingOperation::~PendingOperation() { static_cast<void>(Wait()); }

PendingOperation& PendingOperation::operator=(PendingOperation&& other) noexcept {
  if (this == &other) return *this;
  static_cast<void>(Wait());
  call_ = std::exchange(other.call_, nullptr);
  return *this;
}

absl::Status PendingOperation::Wait() const {
  if (call_ == nullptr) return absl::OkStatus();
  if (!done() && getpid() != call_->process) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", getpid(), " is a fork of process ", call_->process,
                     ", which started this operation and alone can wait for it"));
  }
  call_->ended.WaitForNotification();
  return call_->status;
}

bool PendingOperation::done() const { return call_ == nullptr || call_->ended.HasBeenNotified(); }

namespace internal {

absl::Status RunStarted(const std::function<absl::Status()>& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the function given to Start threw: ", error.what()));
  } catch (...) {
    return absl::InternalError(
        "the function given to Start threw something other than a std::exception");
  }
}

void StartedCalls::Finish() {
  std::thread thread;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

absl::StatusOr<std::shared_ptr<StartedCall>> StartedCalls::Start(
    std::function<absl::Status()> run) {
  auto call = std::make_shared<StartedCall>();
  call->run = std::move(run);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!thread_.joinable()) {
    absl::StatusOr<std::thread> thread = StartThread("run what is started", [this] { Work(); });
    if (!thread.ok()) return thread.status();
    thread_ = *std::move(thread);
  }
  queue_.push_back(call);
  changed_.notify_all();
  return call;
}

bool StartedCalls::IsOwnThread() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return own_thread_ == std::this_thread::get_id();
}

bool StartedCalls::IsEmpty() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return queue_.empty();
}

absl::Status StartedCalls::AwaitAll(const Deadline& deadline) const {
  bool cancelled = false;
  const CancelWatch watch(deadline.cancellation(), [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled = true;
    changed_.notify_all();
  });
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, deadline.when(), [&] { return cancelled || queue_.empty(); });
  if (queue_.empty()) return absl::OkStatus();
  return cancelled ? absl::CancelledError("") : absl::DeadlineExceededError("");
}

// Returns the next call, or null after Finish(), once the queue is empty.
std::shared_ptr<StartedCall> StartedCalls::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  return queue_.empty() ? nullptr : queue_.front();
}

void StartedCalls::Work() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    own_thread_ = std::this_thread::get_id();
  }
  while (const std::shared_ptr<StartedCall> call = Next()) {
    call->status = RunStarted(call->run);
    call->run = nullptr;   // destroys what the function owns
    call->ended.Notify();  // before operations that wait for an empty queue may run
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace internal
}  // namespace muster
