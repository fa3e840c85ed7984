#include "tests/nccl/cuda/runtime/timeline.h"

#include <atomic>
#include <thread>
#include <utility>

namespace fake_cuda {

uint64_t Timeline::NextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

std::shared_ptr<Timeline> Timeline::Start() {
  auto timeline = std::make_shared<Timeline>();
  std::thread([timeline] { timeline->Run(); }).detach();
  return timeline;
}

uint64_t Timeline::Submit(std::function<void()> work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
  return ++submitted_;
}

uint64_t Timeline::submitted() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return submitted_;
}

bool Timeline::Reached(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return completed_ >= number;
}

void Timeline::Await(uint64_t number) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= number; });
}

void Timeline::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Timeline::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closed_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    ++completed_;
    changed_.notify_all();
  }
}

}  // namespace fake_cuda
