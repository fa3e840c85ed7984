#ifndef MUSTER_CLIENT_GLOO_CONNECTIONS_INTERRUPTER_H_
#define MUSTER_CLIENT_GLOO_CONNECTIONS_INTERRUPTER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::internal {

// An object that a thread may be blocked in and that another thread can wake. After Interrupt(),
// its waits return at once.
class Interruptible {
 public:
  virtual void Interrupt() = 0;

 protected:
  ~Interruptible() = default;
};

// Ends the operations of one communicator: at the deadline of the operation in progress, or when
// another thread calls Raise(). Gloo's own time-outs are not used, because they close the
// connections before this rank can tell its peers why.
//
//   interrupter.Arm(timeout);
//   ... the operation; its waits throw Interrupted once raised() ...
//   interrupter.Disarm();
//
// The interrupter has its own thread, which wakes the targets, so Raise() never blocks.
// Thread-safe.
class Interrupter {
 public:
  Interrupter() = default;
  ~Interrupter();
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;

  // Starts the thread. Before this, nothing is interrupted. Returns RESOURCE_EXHAUSTED if the
  // process cannot start a thread; the error names `rank` as the communicator's owner.
  absl::Status Start(absl::string_view rank);

  // Ends the operation in progress and all later ones. Only the first call counts. Does not block.
  // If `why` has a message, it is the complete error. If not, the operation adds the explanation.
  void Raise(const absl::Status& why);

  // Returns the status of the first Raise(), or OK before it. After a deadline, returns
  // DEADLINE_EXCEEDED without a message.
  absl::Status status() const;
  bool raised() const { return raised_.load(std::memory_order_acquire); }

  // Starts and stops the clock of one operation.
  void Arm(absl::Duration timeout);
  void Disarm();

  // Sets a function that the interrupter's thread calls about every 250 ms while an operation is in
  // progress. The function may call Raise(). When this returns, the former function is not running
  // and never runs again.
  void SetPeriodicCheck(std::function<void()> periodic_check);

  // Sets a function that is called when a wait of the operation is about to throw. The operation's
  // messages still exist then: what was begun can be sent to its end, and a message behind it can
  // leave. Call it from the operation's thread; null unsets it.
  void SetBeforeThrow(std::function<void(const std::exception& error)> before_throw);
  // Calls that function. Waits call it with what they are about to throw.
  void BeforeThrow(const std::exception& error);

  void Add(Interruptible* target);
  // Removes a target. When this returns, `target` is not being interrupted and never will be.
  void Remove(Interruptible* target);

 private:
  using Clock = std::chrono::steady_clock;

  void Watch();
  Clock::time_point NextCheck() const;
  void CheckDeadline();
  void InterruptAll();
  void RunPeriodicCheck();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status why_;
  std::optional<Clock::time_point> deadline_;  // of the operation in progress
  Clock::time_point next_check_;               // when the thread checks the deadline next
  bool stopping_ = false;
  std::atomic<bool> raised_{false};

  std::mutex periodic_check_mutex_;
  std::function<void()> periodic_check_;

  std::function<void(const std::exception&)> before_throw_;  // for the operation's thread only

  std::mutex targets_mutex_;
  std::set<Interruptible*> targets_;

  std::thread thread_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CONNECTIONS_INTERRUPTER_H_
