#include "client/src/failure_listeners.h"

#include <utility>

namespace muster::internal {

Subscription FailureListeners::Add(Callback callback) {
  std::optional<absl::Status> failure;
  {
    absl::MutexLock lock(&mutex_);
    failure = failure_;
    if (!failure) {
      const int64_t number = next_++;
      callbacks_.emplace(number, std::move(callback));
      return Subscription([self = shared_from_this(), number] { self->Remove(number); });
    }
  }
  callback(*failure);
  return Subscription();
}

void FailureListeners::Notify(const absl::Status& failure) {
  {
    absl::MutexLock lock(&mutex_);
    failure_ = failure;
    runner_ = std::this_thread::get_id();
  }
  while (std::optional<Callback> callback = TakeNext()) {
    (*callback)(failure);
    Finished();
  }
}

std::optional<FailureListeners::Callback> FailureListeners::TakeNext() {
  absl::MutexLock lock(&mutex_);
  if (callbacks_.empty()) return std::nullopt;
  const auto next = callbacks_.begin();
  Callback callback = std::move(next->second);
  running_ = next->first;
  callbacks_.erase(next);
  return callback;
}

void FailureListeners::Finished() {
  absl::MutexLock lock(&mutex_);
  running_.reset();
}

void FailureListeners::Remove(int64_t number) {
  absl::MutexLock lock(&mutex_);
  callbacks_.erase(number);
  // A callback that ends its own subscription cannot wait for itself.
  if (runner_ == std::this_thread::get_id()) return;
  const auto gone = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_ != number; };
  mutex_.Await(absl::Condition(&gone));
}

}  // namespace muster::internal
