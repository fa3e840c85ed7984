#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_STREAM_QUEUE_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_STREAM_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "tests/nccl/cuda/runtime/stream/order.h"

namespace fake_cuda {

// The work of one stream, done in order on its own thread.
class StreamQueue {
 public:
  static std::shared_ptr<StreamQueue> Start();

  // Returns a number that no other queue of the process has.
  uint64_t id() const { return id_; }

  // Adds work, and returns its number.
  uint64_t Submit(std::function<void()> work);
  uint64_t submitted();

  // Returns whether the work is done. After FailDevice() all work counts as done, since the device
  // drops it.
  bool Reached(uint64_t number);
  void Await(uint64_t number);

  // Ends the thread once the work that it has is done.
  void Close();

  // Ends all waits for work that a failed device will not do.
  static void WakeAll();

 private:
  static uint64_t NextId();
  void Run();
  void Wake();

  const uint64_t id_ = NextId();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
  bool closed_ = false;
};

// A point on a queue, which an event records.
struct QueuePosition {
  std::shared_ptr<StreamQueue> queue;
  uint64_t number = 0;
  std::shared_ptr<const VectorClock> clock;  // the work done once it is reached; null: none

  bool Reached() const { return queue == nullptr || queue->Reached(number); }
  void Await() const {
    if (queue != nullptr) queue->Await(number);
  }

  // Returns whether the position is reached. If so, the host knows it from now on.
  bool PollFromHost() const {
    if (!Reached()) return false;
    if (clock != nullptr) AdvanceHostClock(*clock);
    return true;
  }
  void AwaitFromHost() const {
    Await();
    if (clock != nullptr) AdvanceHostClock(*clock);
  }
};

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_STREAM_QUEUE_H_
