#include "client/nccl/communicator/stopper.h"

#include <algorithm>
#include <utility>

#include "client/nccl/communicator/poll_pacer.h"
#include "client/nccl/communicator/stop.h"
#include "client/nccl/device/cuda_device.h"
#include "common/process/start_thread.h"

namespace muster::internal {
namespace {

using Handles = std::vector<std::shared_ptr<NcclHandle>>;

// The time that callers get to give a communicator back. Usually they need some polls after its
// end.
constexpr absl::Duration kSeizeWait = absl::Seconds(1);

// The time that a thread waits for the other threads to get ready.
constexpr absl::Duration kStartWait = absl::Seconds(1);

// Seizes the handles that no thread is inside of, and returns them. Waits for the others for 1 s.
Handles SeizeAll(Handles handles) {
  Handles seized;
  const SteadyTime deadline = After(SteadyClock::now(), kSeizeWait);
  for (PollPacer pace; !handles.empty() && SteadyClock::now() < deadline; pace.Pause()) {
    const auto busy =
        std::partition(handles.begin(), handles.end(),
                       [](const std::shared_ptr<NcclHandle>& one) { return one->Seize(); });
    std::move(handles.begin(), busy, std::back_inserter(seized));
    handles.erase(handles.begin(), busy);
  }
  return seized;
}

}  // namespace

// A barrier for the threads that stop communicators, which they pass before any of them calls NCCL.
class Stopper::StopBarrier {
 public:
  explicit StopBarrier(size_t expected) : expected_(expected) {}

  void ArriveAndWait() {
    const auto complete = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return expected_ == 0; };
    absl::MutexLock lock(&mutex_);
    --expected_;
    mutex_.AwaitWithTimeout(absl::Condition(&complete), kStartWait);
  }

 private:
  absl::Mutex mutex_;
  size_t expected_ ABSL_GUARDED_BY(mutex_);
};

Stopper& Stopper::Get() {
  static Stopper* const stopper = new Stopper;  // never destroyed: its thread may outlive main()
  return *stopper;
}

absl::Status Stopper::Start() {
  absl::MutexLock lock(&mutex_);
  if (started_) return absl::OkStatus();
  absl::Status status = StartDetachedThread("stop NCCL's communicators", [this] { Work(); });
  started_ = status.ok();
  return status;
}

void Stopper::Add(std::shared_ptr<NcclHandle> handle) {
  absl::MutexLock lock(&mutex_);
  live_.push_back(std::move(handle));
}

void Stopper::Remove(const NcclHandle* handle) {
  if (!Erase(handle)) return;
  Wake();  // so that it checks whether an ended one is still left alone
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
  return skipped_busy_;
}

void Stopper::Wake() {
  absl::MutexLock lock(&mutex_);
  woken_ = true;
  working_ = true;
}

bool Stopper::IsQuiet() const {
  const SteadyTime now = SteadyClock::now();
  return !working_ && !skipped_busy_ &&
         std::all_of(stopping_.begin(), stopping_.end(),
                     [now](const auto& one) { return one.second <= now; });
}

SteadyTime Stopper::NextOverdue() const {
  SteadyTime next = SteadyTime::max();
  for (const auto& [stop, overdue] : stopping_) {
    if (overdue > SteadyClock::now()) next = std::min(next, overdue);
  }
  return next;
}

bool Stopper::AwaitQuiet(SteadyTime deadline) {
  const auto quiet = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return IsQuiet(); };
  absl::MutexLock lock(&mutex_);
  while (!IsQuiet() && SteadyClock::now() < deadline) {
    const SteadyTime until = std::min(deadline, NextOverdue());
    mutex_.AwaitWithTimeout(absl::Condition(&quiet), Between(SteadyClock::now(), until));
  }
  return IsQuiet();
}

void Stopper::Work() {
  while (true) {
    AwaitWake();
    StopBatches();
  }
}

void Stopper::AwaitWake() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&working_));
}

void Stopper::StopBatches() {
  while (true) {
    const Handles batch = NextBatch();
    if (batch.empty()) return;
    const Handles seized = SeizeAll(batch);
    StopAll(seized);
    if (seized.empty() && !WokenSinceBatch()) return;
  }
}

// Starts the threads, which all make their devices current before any of them calls NCCL. CUDA may
// make cudaSetDevice wait for another thread's cudaFree, and that may wait for a kernel whose abort
// flag is not set yet.
void Stopper::StopAll(const Handles& seized) {
  const auto start = std::make_shared<StopBarrier>(seized.size());
  std::vector<std::function<void()>> without_thread;
  for (const std::shared_ptr<NcclHandle>& handle : seized) {
    const std::function<void()> stop = BeginStop(handle, start);
    const bool started = StartDetachedThread("stop an NCCL communicator", stop).ok();
    if (!started) without_thread.push_back(stop);
  }
  for (const std::function<void()>& stop : without_thread) stop();
}

std::function<void()> Stopper::BeginStop(const std::shared_ptr<NcclHandle>& handle,
                                         const std::shared_ptr<StopBarrier>& start) {
  absl::MutexLock lock(&mutex_);
  const uint64_t stop = ++stops_;
  stopping_[stop] = After(SteadyClock::now(), NcclHandle::kStopWait);
  return [this, stop, handle, start] {
    UseDevice(handle->device().index);
    start->ArriveAndWait();
    StopCommunicator(*handle);
    EndStop(stop);
    handle->FreeIfAbandoned();
  };
}

void Stopper::EndStop(uint64_t stop) {
  absl::MutexLock lock(&mutex_);
  stopping_.erase(stop);
}

bool Stopper::WokenSinceBatch() {
  absl::MutexLock lock(&mutex_);
  working_ = woken_;
  skipped_busy_ = !woken_;
  return working_;
}

Stopper::Handles Stopper::NextBatch() {
  Handles batch;
  absl::MutexLock lock(&mutex_);
  woken_ = false;
  // Checks all communicators. The loss of a member ends all communicators of its job, but the
  // callbacks that say so come one by one.
  std::copy_if(live_.begin(), live_.end(), std::back_inserter(batch),
               [](const std::shared_ptr<NcclHandle>& one) { return one->NeedsStop(); });
  working_ = !batch.empty();
  skipped_busy_ = false;
  return batch;
}

}  // namespace muster::internal
