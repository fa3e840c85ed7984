#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_POLLING_TURNS_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_POLLING_TURNS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/functional/function_ref.h"
#include "client/src/base/steady_clock.h"

namespace muster::internal {

// The rule that decides which thread polls the transport: one at a time.
//
// A thread of the program that waits for its call polls meanwhile, so it takes its own answer
// without a thread switch. If several threads wait, one of them polls for all. The stand-in, a
// thread that only polls, does so while no thread of the program waits. It pauses after each call:
// if it polled at once, it would take the answers of a program that makes one call after another.
//
// Call everything under the owner's lock, which is released while a thread waits. Test:
// tests/client/control_plane/polling_turns_test.cc.
class PollingTurns {
 public:
  using Lock = std::unique_lock<std::mutex>;
  enum class How {
    kUntilWoken,  // until an event was for the polling thread, or it is woken
    kNow,         // only events that are already there
  };

  // How long the stand-in pauses while the program makes calls. At the end of a pause it handles
  // the events that have come, unless a thread of the program waits and so handles them. If no call
  // was made in the pause, the stand-in goes on to poll.
  //
  // Each pause is twice as long as the one before while they end in a call: a program that makes
  // one call after another is seldom between them. A pause that ends between two calls is followed
  // by the shortest: the program computes, and other members may wait for what it has not yet
  // handled.
  struct Pauses {
    std::chrono::microseconds shortest;
    std::chrono::microseconds longest;
  };

  // `poll` runs without the lock, and must return soon after a wake-up. `polled` runs under the
  // lock after each poll, when the turn is free again, and may release the lock meanwhile.
  PollingTurns(const Pauses& pauses, std::function<void(How)> poll,
               std::function<void(Lock*)> polled)
      : pauses_(pauses), poll_(std::move(poll)), polled_(std::move(polled)) {}

  // A thread of the program that waits.
  class Waiter {
   private:
    friend class PollingTurns;
    std::condition_variable wakes_;
  };

  // Blocks until `ready` returns true. Checks it after each poll and each Notify(), and polls
  // meanwhile if no other thread does. Afterwards the turn is free for other threads, even if this
  // thread goes on to wait for something else.
  void Await(Lock* lock, Waiter* waiter, absl::FunctionRef<bool()> ready);

  // Wakes a waiter that may be ready. Returns true if the waiter polls on another thread: the
  // caller must then wake the transport.
  bool Notify(Waiter* waiter);

  // Runs the stand-in until `stopping` returns true. Checks it after each poll and each
  // WakeStandIn().
  void StandIn(Lock* lock, absl::FunctionRef<bool()> stopping);
  void WakeStandIn() { stand_in_wakes_.notify_one(); }

  // A wait for a change of the member's state, during which the thread does not poll. The stand-in
  // polls more often while such an object lives. Create and destroy it under the lock.
  class AwaitingChange {
   public:
    explicit AwaitingChange(PollingTurns* turns) : turns_(turns) {
      ++turns_->awaiting_changes_;
      turns_->WakeStandIn();
    }
    ~AwaitingChange() { --turns_->awaiting_changes_; }
    AwaitingChange(const AwaitingChange&) = delete;
    AwaitingChange& operator=(const AwaitingChange&) = delete;

   private:
    PollingTurns* const turns_;
  };

 private:
  // Polls once.
  void Take(Lock* lock, Waiter* waiter, How how);
  // Wakes a queued thread if no thread polls.
  void Pass();
  // Blocks the stand-in for this time, or until WakeStandIn().
  void Pause(Lock* lock, std::chrono::microseconds pause);

  const Pauses pauses_;
  const std::function<void(How)> poll_;
  const std::function<void(Lock*)> polled_;

  bool taken_ = false;
  // The thread of the program whose turn it is; null if it is the stand-in, or no thread.
  Waiter* poller_ = nullptr;
  std::thread::id poller_thread_;  // the thread that polls now or polled last
  std::list<Waiter*> queue_;       // threads that wait while another one polls
  uint64_t visits_ = 0;            // how often threads of the program have begun or ended a wait
  bool stand_in_sleeps_ = false;   // until a thread of the program begins or ends a wait
  int awaiting_changes_ = 0;
  std::condition_variable stand_in_wakes_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_POLLING_TURNS_H_
