#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_POLLING_TURNS_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_POLLING_TURNS_H_

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

// Whose turn it is to poll: one thread at a time. A thread of the program that waits for its call
// polls meanwhile, and so takes the answer by itself; of several that wait one polls, for all. The
// stand-in, a thread that does nothing else, polls while none of the program does, and keeps out of
// the way of a program that makes one call after another.
//
// All is called under one lock, the owner's, which is released while a thread waits.
class PollingTurns {
 public:
  using Lock = std::unique_lock<std::mutex>;
  enum class How {
    kUntilWoken,  // takes what comes until an event was for the one who polls, or it is woken
    kNow,         // takes what is there
  };

  // `poll` is called without the lock, and returns soon after it was woken. `polled` is called
  // under it after each poll, when the turn is free again, and may release it meanwhile.
  PollingTurns(std::function<void(How)> poll, std::function<void(Lock*)> polled)
      : poll_(std::move(poll)), polled_(std::move(polled)) {}

  // A thread of the program that waits.
  class Waiter {
   private:
    friend class PollingTurns;
    std::condition_variable wakes_;
  };

  // Blocks until `ready`, which is looked at after each poll and each Notify(); polls meanwhile
  // where nobody else does. Then the turn is somebody else's, also where this thread goes on to
  // wait for something that takes no polling.
  void Await(Lock* lock, Waiter* waiter, absl::FunctionRef<bool()> ready);

  // `waiter` may be ready. True: it polls, in another thread than this one, and is to be woken.
  bool Notify(Waiter* waiter);

  // The thread that stands in, until `stopping`, which is looked at after each poll and when it is
  // woken by WakeStandIn().
  void StandIn(Lock* lock, absl::FunctionRef<bool()> stopping);
  void WakeStandIn() { stand_in_wakes_.notify_one(); }

  // While such an object lives a thread waits for news and does not poll: the stand-in hurries.
  // Made and destroyed under the lock.
  class AwaitingNews {
   public:
    explicit AwaitingNews(PollingTurns* turns) : turns_(turns) {
      ++turns_->awaiting_news_;
      turns_->WakeStandIn();
    }
    ~AwaitingNews() { --turns_->awaiting_news_; }
    AwaitingNews(const AwaitingNews&) = delete;
    AwaitingNews& operator=(const AwaitingNews&) = delete;

   private:
    PollingTurns* const turns_;
  };

 private:
  // Polls once.
  void Take(Lock* lock, Waiter* waiter, How how);
  // Nobody polls any more: one of those who wait for their turn shall.
  void Pass();

  const std::function<void(How)> poll_;
  const std::function<void(Lock*)> polled_;

  bool taken_ = false;
  Waiter* poller_ = nullptr;       // whose turn it is; null: the stand-in's, or nobody's
  std::thread::id poller_thread_;  // of whoever polls now, or did last
  std::list<Waiter*> queue_;       // those who wait while another one polls
  uint64_t visits_ = 0;            // how often threads of the program have begun or ended to wait
  uint64_t polls_ = 0;             // and how often they have polled
  bool stand_in_sleeps_ = false;   // until a thread of the program has waited
  int awaiting_news_ = 0;
  std::condition_variable stand_in_wakes_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_POLLING_TURNS_H_
