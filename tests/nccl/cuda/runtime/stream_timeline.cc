#include "tests/nccl/cuda/runtime/stream_timeline.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "tests/nccl/cuda/runtime/failure.h"

namespace fake_cuda {
namespace {

struct Timelines {
  std::mutex mutex;
  std::vector<std::weak_ptr<Timeline>> all;

  void Add(const std::shared_ptr<Timeline>& timeline) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto is_gone = [](const std::weak_ptr<Timeline>& one) { return one.expired(); };
    all.erase(std::remove_if(all.begin(), all.end(), is_gone), all.end());
    all.push_back(timeline);
  }
};

Timelines& AllTimelines() {
  static auto* const kTimelines = new Timelines();
  return *kTimelines;
}

bool Failed() { return Failure() != cudaSuccess; }

}  // namespace

uint64_t Timeline::NextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

std::shared_ptr<Timeline> Timeline::Start() {
  auto timeline = std::make_shared<Timeline>();
  AllTimelines().Add(timeline);
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
  return completed_ >= number || Failed();
}

void Timeline::Await(uint64_t number) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= number || Failed(); });
}

void Timeline::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Timeline::Wake() {
  const std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
}

void Timeline::WakeAll() {
  const std::lock_guard<std::mutex> lock(AllTimelines().mutex);
  for (const std::weak_ptr<Timeline>& one : AllTimelines().all) {
    if (const auto timeline = one.lock()) timeline->Wake();
  }
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
