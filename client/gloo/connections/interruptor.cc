#include "client/gloo/connections/interruptor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/start_thread.h"

namespace muster::internal {
namespace {

// The period of the thread's checks. Arm() wakes the thread only if the deadline is before its next
// check, so a short operation costs no thread switch.
constexpr std::chrono::milliseconds kPatrolPeriod(250);

// Longer time-outs are reduced to this, so that adding them to the clock's time does not overflow.
constexpr absl::Duration kLongest = absl::Hours(24 * 365);

}  // namespace

absl::Status Interruptor::Start(absl::string_view rank) {
  next_look_ = Clock::now() + kPatrolPeriod;
  absl::StatusOr<std::thread> thread = StartThread(
      absl::StrCat("keep the time-outs of the communicator of ", rank), [this] { Watch(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

Interruptor::~Interruptor() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Interruptor::Raise(const absl::Status& why) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!why_.ok()) return;
    why_ = why;
    raised_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

absl::Status Interruptor::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return why_;
}

void Interruptor::Arm(absl::Duration timeout) {
  const Clock::time_point deadline =
      Clock::now() + absl::ToChronoNanoseconds(std::min(timeout, kLongest));
  bool sooner;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    deadline_ = deadline;
    sooner = deadline < next_look_;
  }
  if (sooner) changed_.notify_all();
}

void Interruptor::Disarm() {
  std::lock_guard<std::mutex> lock(mutex_);
  deadline_.reset();
}

void Interruptor::SetPatrol(std::function<void()> patrol) {
  std::lock_guard<std::mutex> lock(patrol_mutex_);
  patrol_ = std::move(patrol);
}

void Interruptor::RunPatrol() {
  std::lock_guard<std::mutex> lock(patrol_mutex_);
  if (patrol_) patrol_();
}

void Interruptor::Add(Interruptible* target) {
  std::lock_guard<std::mutex> lock(targets_mutex_);
  targets_.insert(target);
}

void Interruptor::Remove(Interruptible* target) {
  std::lock_guard<std::mutex> lock(targets_mutex_);
  targets_.erase(target);
}

void Interruptor::InterruptAll() {
  std::lock_guard<std::mutex> lock(targets_mutex_);
  for (Interruptible* target : targets_) target->Interrupt();
}

Interruptor::Clock::time_point Interruptor::NextLook() const {
  const Clock::time_point look = Clock::now() + kPatrolPeriod;
  return deadline_ ? std::min(look, *deadline_) : look;
}

void Interruptor::CheckDeadline() {
  if (!why_.ok() || !deadline_ || Clock::now() < *deadline_) return;
  why_ = absl::DeadlineExceededError("");
  raised_.store(true, std::memory_order_release);
}

void Interruptor::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_ && why_.ok()) {
    next_look_ = NextLook();
    changed_.wait_until(lock, next_look_);
    CheckDeadline();
    if (!why_.ok() || !deadline_) continue;
    lock.unlock();
    RunPatrol();
    lock.lock();
  }
  lock.unlock();
  if (raised()) InterruptAll();
}

}  // namespace muster::internal
