#include "client/src/control_plane/watch_notifier.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "common/process/start_thread.h"

namespace muster::internal {

class WatchNotifier::Queue {
 public:
  void Add(uint64_t watch, Callback callback) {
    std::lock_guard<std::mutex> lock(mutex_);
    callbacks_.emplace(watch, std::make_shared<Callback>(std::move(callback)));
  }

  void Notify(uint64_t watch, absl::StatusOr<v1::StoreWatchEvent> event) {
    std::lock_guard<std::mutex> lock(mutex_);
    events_.emplace_back(watch, std::move(event));
    changed_.notify_all();
  }

  void Remove(uint64_t watch) {
    decltype(callbacks_)::node_type removed;  // destroyed without the lock
    std::unique_lock<std::mutex> lock(mutex_);
    removed = callbacks_.extract(watch);
    if (std::this_thread::get_id() == runner_) return;
    changed_.wait(lock, [&] { return running_ != watch; });
    lock.unlock();
  }

  void Close() {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  // Runs callbacks until Close(), and for the ends that came before it.
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    runner_ = std::this_thread::get_id();
    while (true) {
      changed_.wait(lock, [this] { return closed_ || !events_.empty(); });
      if (events_.empty()) return;
      const auto [watch, event] = std::move(events_.front());
      events_.pop_front();
      const auto found = callbacks_.find(watch);
      if (found == callbacks_.end() || (closed_ && event.ok())) continue;
      std::shared_ptr<Callback> callback = found->second;
      if (!event.ok()) callbacks_.erase(found);
      running_ = watch;
      lock.unlock();
      (*callback)(event);
      callback.reset();  // it may be the last owner of other objects of the job
      lock.lock();
      running_ = 0;
      changed_.notify_all();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, std::shared_ptr<Callback>> callbacks_;  // by watch
  std::deque<std::pair<uint64_t, absl::StatusOr<v1::StoreWatchEvent>>> events_;
  uint64_t running_ = 0;  // the watch whose callback runs; 0: none
  std::thread::id runner_;
  bool closed_ = false;
};

absl::StatusOr<std::unique_ptr<WatchNotifier>> WatchNotifier::Start() {
  const auto queue = std::make_shared<Queue>();
  absl::StatusOr<std::thread> thread =
      StartThread("run the callbacks of watches", [queue] { queue->Run(); });
  if (!thread.ok()) return thread.status();
  return std::unique_ptr<WatchNotifier>(new WatchNotifier(queue, *std::move(thread)));
}

WatchNotifier::WatchNotifier(std::shared_ptr<Queue> queue, std::thread thread)
    : queue_(std::move(queue)), thread_(std::move(thread)) {}

WatchNotifier::~WatchNotifier() {
  queue_->Close();
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void WatchNotifier::Add(uint64_t watch, Callback callback) {
  queue_->Add(watch, std::move(callback));
}

void WatchNotifier::Notify(uint64_t watch, absl::StatusOr<v1::StoreWatchEvent> event) {
  queue_->Notify(watch, std::move(event));
}

void WatchNotifier::Remove(uint64_t watch) { queue_->Remove(watch); }

}  // namespace muster::internal
