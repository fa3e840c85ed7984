#include "client/observe/bounded_work.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "common/process/start_thread.h"

namespace muster::observe {
namespace {

struct Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::function<void()>> work;
  size_t next = 0;
  size_t done = 0;
};

void RunPieces(const std::shared_ptr<Queue>& queue) {
  std::unique_lock<std::mutex> lock(queue->mutex);
  while (queue->next < queue->work.size()) {
    const std::function<void()> piece = std::move(queue->work[queue->next++]);
    lock.unlock();
    piece();
    lock.lock();
    ++queue->done;
    queue->changed.notify_all();
  }
}

bool StartWorker(const std::shared_ptr<Queue>& queue) {
  return StartDetachedThread("look at processes", [queue] { RunPieces(queue); }).ok();
}

}  // namespace

bool RunWithin(absl::Duration patience, size_t max_threads,
               std::vector<std::function<void()>> work) {
  const auto queue = std::make_shared<Queue>();
  const size_t all = work.size();
  queue->work = std::move(work);
  size_t threads = 0;
  while (threads < std::min(max_threads, all) && StartWorker(queue)) ++threads;
  if (threads == 0) return all == 0;
  std::unique_lock<std::mutex> lock(queue->mutex);
  const bool done = queue->changed.wait_for(lock, absl::ToChronoMilliseconds(patience),
                                            [&] { return queue->done == all; });
  queue->next = all;
  return done;
}

}  // namespace muster::observe
