#include "tests/nccl/cuda/runtime/stream/stream_queue.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "tests/nccl/cuda/runtime/failure.h"

namespace fake_cuda {
namespace {

struct StreamQueues {
  std::mutex mutex;
  std::vector<std::weak_ptr<StreamQueue>> all;

  void Add(const std::shared_ptr<StreamQueue>& queue) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto is_gone = [](const std::weak_ptr<StreamQueue>& one) { return one.expired(); };
    all.erase(std::remove_if(all.begin(), all.end(), is_gone), all.end());
    all.push_back(queue);
  }
};

StreamQueues& AllStreamQueues() {
  static auto* const kStreamQueues = new StreamQueues();
  return *kStreamQueues;
}

bool Failed() { return Failure() != cudaSuccess; }

}  // namespace

uint64_t StreamQueue::NextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

std::shared_ptr<StreamQueue> StreamQueue::Start() {
  auto queue = std::make_shared<StreamQueue>();
  AllStreamQueues().Add(queue);
  std::thread([queue] { queue->Run(); }).detach();
  return queue;
}

uint64_t StreamQueue::Submit(std::function<void()> work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
  return ++submitted_;
}

uint64_t StreamQueue::submitted() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return submitted_;
}

bool StreamQueue::Reached(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return completed_ >= number || Failed();
}

void StreamQueue::Await(uint64_t number) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= number || Failed(); });
}

void StreamQueue::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void StreamQueue::Wake() {
  const std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
}

void StreamQueue::WakeAll() {
  const std::lock_guard<std::mutex> lock(AllStreamQueues().mutex);
  for (const std::weak_ptr<StreamQueue>& one : AllStreamQueues().all) {
    if (const auto queue = one.lock()) queue->Wake();
  }
}

void StreamQueue::Run() {
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
