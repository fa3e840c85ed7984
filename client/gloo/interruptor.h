#ifndef MUSTER_CLIENT_GLOO_INTERRUPTOR_H_
#define MUSTER_CLIENT_GLOO_INTERRUPTOR_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::internal {

// Something that a thread is blocked in and that another one can wake. After Interrupt() its waits
// return at once.
class Interruptible {
 public:
  virtual void Interrupt() = 0;

 protected:
  ~Interruptible() = default;
};

// Ends the operations of one communicator: at the deadline of the one in progress, or when Raise()
// says so. Gloo's own time-outs are not used, because they close the connections before this rank
// can tell its peers why.
//
// Has a thread of its own, which does the waking, so that Raise() never blocks. Thread-safe.
class Interruptor {
 public:
  Interruptor() = default;
  ~Interruptor();
  Interruptor(const Interruptor&) = delete;
  Interruptor& operator=(const Interruptor&) = delete;

  // Starts the thread. Nothing is interrupted before. RESOURCE_EXHAUSTED, which says that it is for
  // the communicator of `rank`, if the process gets none.
  absl::Status Start(absl::string_view rank);

  // Ends the operation in progress and all later ones. Only the first call counts. Does not block.
  // A `why` with a text is the whole error; one without is for the operation to explain.
  void Raise(const absl::Status& why);

  // OK until then. At a deadline: DEADLINE_EXCEEDED without a text.
  absl::Status status() const;
  bool raised() const { return raised_.load(std::memory_order_acquire); }

  // An operation begins, and ends.
  void Arm(absl::Duration timeout);
  void Disarm();

  // Called from the interruptor's thread now and then while an operation is in progress; it may
  // call Raise(). After this returns a former patrol is not running and never will.
  void SetPatrol(std::function<void()> patrol);

  void Add(Interruptible* target);
  // After this returns `target` is not and will not be interrupted.
  void Remove(Interruptible* target);

 private:
  using Clock = std::chrono::steady_clock;

  void Watch();
  Clock::time_point NextLook() const;
  void CheckDeadline();
  void InterruptAll();
  void RunPatrol();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status why_;
  std::optional<Clock::time_point> deadline_;  // of the operation in progress
  Clock::time_point next_look_;                // when the thread looks at the deadline again
  bool stopping_ = false;
  std::atomic<bool> raised_{false};

  std::mutex patrol_mutex_;
  std::function<void()> patrol_;

  std::mutex targets_mutex_;
  std::set<Interruptible*> targets_;

  std::thread thread_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_INTERRUPTOR_H_
