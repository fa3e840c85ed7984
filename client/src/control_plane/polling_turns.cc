#include "client/src/control_plane/polling_turns.h"

#include <chrono>

namespace muster::internal {
namespace {

// How long the stand-in leaves the polling alone between the calls of a program that makes one
// after the other. What comes meanwhile is heard that much later.
constexpr std::chrono::milliseconds kStandBack(20);
// The same where a thread waits for just that.
constexpr std::chrono::milliseconds kStandBackForNews(5);
// A call that takes longer than this may cost one more wake-up when it ends.
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
    const bool called_of_late = std::exchange(visits, visits_) != visits_;
    const bool polled_of_late = std::exchange(polls, polls_) != polls_;
    if (called_of_late) called_at = SteadyClock::now();
    if (!called_of_late && !taken_) {
      Take(lock, nullptr, How::kUntilWoken);
      Pass();
    } else if (SteadyClock::now() - called_at < kLongPoll) {
      // Calls that others of the node have sent.
      if (!polled_of_late && !taken_) {
        Take(lock, nullptr, How::kNow);
        Pass();
      }
      stand_in_wakes_.wait_for(*lock, awaiting_news_ > 0 ? kStandBackForNews : kStandBack);
    } else {
      stand_in_sleeps_ = true;
      stand_in_wakes_.wait(*lock, [&] { return stopping() || visits_ != visits; });
      stand_in_sleeps_ = false;
    }
  }
}

}  // namespace muster::internal
