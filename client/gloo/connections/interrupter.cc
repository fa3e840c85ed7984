#include "client/gloo/connections/interrupter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/start_thread.h"

namespace muster::internal {
namespace {

// The period of the thread's checks. Arm() wakes the thread only if the deadline is before its next
// check, so a short operation costs no thread switch.
constexpr std::chrono::milliseconds kCheckPeriod(250);

// Longer time-outs are reduced to this, so that adding them to the clock's time does not overflow.
constexpr absl::Duration kLongest = absl::Hours(24 * 365);

}  // namespace

absl::Status Interrupter::Start(absl::string_view rank) {
  next_check_ = Clock::now() + kCheckPeriod;
  absl::StatusOr<std::thread> thread = StartThread(
      absl::StrCat("keep the time-outs of the communicator of ", rank), [this] { Watch(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

Interrupter::~Interrupter() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Interrupter::Raise(const absl::Status& why) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!why_.ok()) return;
    why_ = why;
    raised_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

absl::Status Interrupter::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return why_;
}

void Interrupter::Arm(absl::Duration timeout) {
  const Clock::time_point deadline =
      Clock::now() + absl::ToChronoNanoseconds(std::min(timeout, kLongest));
  bool sooner;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    deadline_ = deadline;
    sooner = deadline < next_check_;
  }
  if (sooner) changed_.notify_all();
}

void Interrupter::Disarm() {
  std::lock_guard<std::mutex> lock(mutex_);
  deadline_.reset();
}

void Interrupter::SetPeriodicCheck(std::function<void()> periodic_check) {
  std::lock_guard<std::mutex> lock(periodic_check_mutex_);
  periodic_check_ = std::move(periodic_check);
}

void Interrupter::RunPeriodicCheck() {
  std::lock_guard<std::mutex> lock(periodic_check_mutex_);
  if (periodic_check_) periodic_check_();
}

void Interrupter::SetBeforeThrow(std::function<void(const std::exception&)> before_throw) {
  before_throw_ = std::move(before_throw);
}

void Interrupter::BeforeThrow(const std::exception& error) {
  if (before_throw_) before_throw_(error);
}

void Interrupter::Add(Interruptible* target) {
  std::lock_guard<std::mutex> lock(targets_mutex_);
  targets_.insert(target);
}

void Interrupter::Remove(Interruptible* target) {
  std::lock_guard<std::mutex> lock(targets_mutex_);
  targets_.erase(target);
}

void Interrupter::InterruptAll() {
  std::lock_guard<std::mutex> lock(targets_mutex_);
  for (Interruptible* target : targets_) target->Interrupt();
}

Interrupter::Clock::time_point Interrupter::NextCheck() const {
  const Clock::time_point next_check = Clock::now() + kCheckPeriod;
  return deadline_ ? std::min(next_check, *deadline_) : next_check;
}

void Interrupter::CheckDeadline() {
  if (!why_.ok() || !deadline_ || Clock::now() < *deadline_) return;
  why_ = absl::DeadlineExceededError("");
  raised_.store(true, std::memory_order_release);
}

void Interrupter::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_ && why_.ok()) {
    next_check_ = NextCheck();
    changed_.wait_until(lock, next_check_);
    CheckDeadline();
    if (!why_.ok() || !deadline_) continue;
    lock.unlock();
    RunPeriodicCheck();
    lock.lock();
  }
  lock.unlock();
  if (raised()) InterruptAll();
}

}  // namespace muster::internal
