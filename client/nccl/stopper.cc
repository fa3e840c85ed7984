#include "client/nccl/stopper.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "client/nccl/stop.h"

namespace muster::internal {

Stopper& Stopper::Get() {
  static Stopper* const stopper = new Stopper;  // never destroyed: its thread may outlive main()
  return *stopper;
}

void Stopper::Add(std::shared_ptr<NcclHandle> handle) {
  absl::MutexLock lock(&mutex_);
  live_.push_back(std::move(handle));
}

void Stopper::Remove(const NcclHandle* handle) {
  if (!Erase(handle)) return;
  Wake();  // to look whether one is still left alone
}

bool Stopper::Erase(const NcclHandle* handle) {
  std::shared_ptr<NcclHandle> removed;  // destroyed outside the lock
  absl::MutexLock lock(&mutex_);
  const auto found =
      std::find_if(live_.begin(), live_.end(),
                   [&](const std::shared_ptr<NcclHandle>& one) { return one.get() == handle; });
  if (found == live_.end()) return false;
  removed = std::move(*found);
  live_.erase(found);
  return left_alone_;
}

void Stopper::Wake() {
  absl::MutexLock lock(&mutex_);
  woken_ = true;
  if (working_) return;
  working_ = true;
  std::thread([this] { Work(); }).detach();
}

bool Stopper::AwaitQuiet(SteadyTime deadline) {
  const auto quiet = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !working_ && !left_alone_;
  };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&quiet), Between(SteadyClock::now(), deadline));
}

void Stopper::Work() {
  while (true) {
    const std::vector<std::shared_ptr<NcclHandle>> batch = NextBatch();
    if (batch.empty()) return;
    const bool progress = StopTogether(batch);
    for (const std::shared_ptr<NcclHandle>& handle : batch) handle->FreeIfAbandoned();
    if (!progress && !GoOn()) return;
  }
}

bool Stopper::GoOn() {
  absl::MutexLock lock(&mutex_);
  working_ = woken_;
  left_alone_ = !woken_;
  return working_;
}

std::vector<std::shared_ptr<NcclHandle>> Stopper::NextBatch() {
  std::vector<std::shared_ptr<NcclHandle>> batch;
  absl::MutexLock lock(&mutex_);
  woken_ = false;
  // The loss of a member ends all communicators of its job, and their callbacks come one by one.
  std::copy_if(live_.begin(), live_.end(), std::back_inserter(batch),
               [](const std::shared_ptr<NcclHandle>& one) { return one->IsCondemned(); });
  working_ = !batch.empty();
  left_alone_ = false;
  return batch;
}

}  // namespace muster::internal
