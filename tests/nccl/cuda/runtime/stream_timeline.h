#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_TIMELINE_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_TIMELINE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "tests/nccl/cuda/runtime/order.h"

namespace fake_cuda {

// The work of one stream, in order, on a thread of its own.
class Timeline {
 public:
  static std::shared_ptr<Timeline> Start();

  // No two of the process have the same.
  uint64_t id() const { return id_; }

  // Returns the work's number.
  uint64_t Submit(std::function<void()> work);
  uint64_t submitted();

  // After FailDevice() all work counts as done: the device drops it.
  bool Reached(uint64_t number);
  void Await(uint64_t number);

  // The thread ends once the work that it has is done.
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

// A point on a timeline: what an event records.
struct Mark {
  std::shared_ptr<Timeline> timeline;
  uint64_t number = 0;
  std::shared_ptr<const Past> past;  // what is done once it is reached; null: nothing

  bool Reached() const { return timeline == nullptr || timeline->Reached(number); }
  void Await() const {
    if (timeline != nullptr) timeline->Await(number);
  }

  // The same for the program, which knows from then on that it is reached.
  bool HostFindsReached() const {
    if (!Reached()) return false;
    if (past != nullptr) HostHasSeen(*past);
    return true;
  }
  void HostAwaits() const {
    Await();
    if (past != nullptr) HostHasSeen(*past);
  }
};

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_TIMELINE_H_
