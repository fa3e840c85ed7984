#include "client/src/control_plane/polling_turns.h"

#include <algorithm>

namespace muster::internal {
namespace {

// The longest pause while a thread waits for a change (AwaitingChange).
constexpr std::chrono::microseconds kPauseForChanges(5000);
// Longer calls may cost one extra wake-up at their end.
constexpr std::chrono::seconds kLongPoll(1);

}  // namespace

void PollingTurns::Await(Lock* lock, Waiter* waiter, absl::FunctionRef<bool()> ready) {
  ++visits_;
  while (!ready()) {
    if (!taken_) {
      Take(lock, waiter, How::kUntilWoken);
      continue;
    }
    const auto place = queue_.insert(queue_.end(), waiter);
    waiter->wakes_.wait(*lock, [&] { return ready() || !taken_; });
    queue_.erase(place);
  }
  ++visits_;
  Pass();
  if (stand_in_sleeps_) WakeStandIn();
}

bool PollingTurns::Notify(Waiter* waiter) {
  if (waiter == poller_) return poller_thread_ != std::this_thread::get_id();
  waiter->wakes_.notify_one();
  return false;
}

void PollingTurns::Take(Lock* lock, Waiter* waiter, How how) {
  taken_ = true;
  poller_ = waiter;
  poller_thread_ = std::this_thread::get_id();
  lock->unlock();
  poll_(how);
  lock->lock();
  taken_ = false;
  poller_ = nullptr;
  polled_(lock);
}

void PollingTurns::Pass() {
  if (!taken_ && !queue_.empty()) queue_.front()->wakes_.notify_one();
}

void PollingTurns::StandIn(Lock* lock, absl::FunctionRef<bool()> stopping) {
  uint64_t visits = 0;
  SteadyTime called_at;
  std::chrono::microseconds pause = pauses_.shortest;
  while (!stopping()) {
    const bool recently_called = std::exchange(visits, visits_) != visits_;
    if (recently_called) called_at = SteadyClock::now();
    const bool no_thread_waits = !taken_ && queue_.empty();
    if (no_thread_waits) {
      Take(lock, nullptr, recently_called ? How::kNow : How::kUntilWoken);
      Pass();
      pause = pauses_.shortest;
      if (!recently_called) continue;
    }
    if (SteadyClock::now() - called_at < kLongPoll) {
      Pause(lock, pause);
      pause = std::min(2 * pause, pauses_.longest);
    } else {
      stand_in_sleeps_ = true;
      stand_in_wakes_.wait(*lock, [&] { return stopping() || visits_ != visits; });
      stand_in_sleeps_ = false;
    }
  }
}

void PollingTurns::Pause(Lock* lock, std::chrono::microseconds pause) {
  const bool awaits_change = awaiting_changes_ > 0;
  stand_in_wakes_.wait_for(*lock, awaits_change ? std::min(pause, kPauseForChanges) : pause);
}

}  // namespace muster::internal
