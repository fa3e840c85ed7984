#include "client/src/control_plane/polling_turns.h"

#include <chrono>

namespace muster::internal {
namespace {

// How long the stand-in pauses after a call of the program. Events in the pause are handled that
// much later.
constexpr std::chrono::milliseconds kStandInDelay(20);
// The pause while a thread waits for a change (AwaitingChange).
constexpr std::chrono::milliseconds kStandInDelayForChanges(5);
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
  if (waiter != nullptr) ++polls_;
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
  uint64_t polls = 0;
  SteadyTime called_at;
  while (!stopping()) {
    const bool recently_called = std::exchange(visits, visits_) != visits_;
    const bool recently_polled = std::exchange(polls, polls_) != polls_;
    if (recently_called) called_at = SteadyClock::now();
    if (!recently_called && !taken_) {
      Take(lock, nullptr, How::kUntilWoken);
      Pass();
    } else if (SteadyClock::now() - called_at < kLongPoll) {
      // Threads wait in shared memory for calls that other members sent, so none of them polls.
      if (!recently_polled && !taken_) {
        Take(lock, nullptr, How::kNow);
        Pass();
      }
      stand_in_wakes_.wait_for(*lock,
                               awaiting_changes_ > 0 ? kStandInDelayForChanges : kStandInDelay);
    } else {
      stand_in_sleeps_ = true;
      stand_in_wakes_.wait(*lock, [&] { return stopping() || visits_ != visits; });
      stand_in_sleeps_ = false;
    }
  }
}

}  // namespace muster::internal
