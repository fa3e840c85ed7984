#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_ONE_TIME_EVENT_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_ONE_TIME_EVENT_H_

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "muster/group.h"

namespace muster::internal {

// Callbacks that wait for something that happens once.
//
//   Subscription subscription = event->Add([](const absl::Status& why) { ... });
//   event->Notify(why);  // runs it
//
// Thread-safe. A subscription may outlive the job. It may also end in a fork of the process, where
// callbacks never run.
template <class... Args>
class OneTimeEvent : public std::enable_shared_from_this<OneTimeEvent<Args...>> {
 public:
  using Callback = std::function<void(const Args&...)>;

  // Runs `callback` in Notify(), or at once on this thread if Notify() was called before.
  Subscription Add(Callback callback) {
    std::optional<std::tuple<Args...>> happened;
    {
      absl::MutexLock lock(&mutex_);
      happened = happened_;
      if (!happened) {
        const int64_t number = next_++;
        callbacks_.emplace(number, std::move(callback));
        return Subscription([self = this->shared_from_this(), number] { self->Remove(number); });
      }
    }
    std::apply(callback, *happened);
    return Subscription();
  }

  // Runs every callback once, on this thread and without a lock. Call it once.
  void Notify(const Args&... args) {
    {
      absl::MutexLock lock(&mutex_);
      happened_.emplace(args...);
      runner_ = std::this_thread::get_id();
    }
    while (std::optional<Callback> callback = TakeNext()) {
      (*callback)(args...);
      Finished();
    }
  }

 private:
  void Remove(int64_t number) {
    // In a fork, a thread of the parent may hold the lock for ever.
    if (getpid() != process_) return;
    absl::MutexLock lock(&mutex_);
    callbacks_.erase(number);
    // A callback that ends its own subscription cannot wait for itself.
    if (runner_ == std::this_thread::get_id()) return;
    const auto gone = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_ != number; };
    mutex_.Await(absl::Condition(&gone));
  }

  // Returns the next callback to run and makes it `running_`, or returns nullopt.
  std::optional<Callback> TakeNext() {
    absl::MutexLock lock(&mutex_);
    if (callbacks_.empty()) return std::nullopt;
    const auto next = callbacks_.begin();
    Callback callback = std::move(next->second);
    running_ = next->first;
    callbacks_.erase(next);
    return callback;
  }

  void Finished() {
    absl::MutexLock lock(&mutex_);
    running_.reset();
  }

  const pid_t process_ = getpid();
  absl::Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<std::tuple<Args...>> happened_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Callback> callbacks_ ABSL_GUARDED_BY(mutex_);
  std::optional<int64_t> running_ ABSL_GUARDED_BY(mutex_);
  std::thread::id runner_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_ONE_TIME_EVENT_H_
