#include "muster/call_options.h"

#include <utility>

namespace muster {

void Cancellation::Cancel() {
  absl::MutexLock lock(&mutex_);
  if (cancelled_) return;
  cancelled_ = true;
  // Runs callbacks under the lock, so that Remove() waits for a callback that is running.
  for (const auto& [number, wake] : wakes_) wake();
  wakes_.clear();
}

bool Cancellation::cancelled() const {
  absl::MutexLock lock(&mutex_);
  return cancelled_;
}

int64_t Cancellation::Add(std::function<void()> wake) {
  {
    absl::MutexLock lock(&mutex_);
    const int64_t number = next_++;
    if (!cancelled_) {
      wakes_.emplace(number, std::move(wake));
      return number;
    }
  }
  wake();
  return -1;
}

void Cancellation::Remove(int64_t number) {
  absl::MutexLock lock(&mutex_);
  wakes_.erase(number);
}

}  // namespace muster
