#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_EVENT_QUEUE_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_EVENT_QUEUE_H_

#include <mutex>
#include <utility>
#include <vector>

#include "client/launcher/process/event_fd.h"

namespace muster::launcher {

// A queue that brings events from other threads to the thread of an EventLoop. Thread-safe.
//
//   EventQueue<int> numbers;
//   loop.Watch(numbers.fd(), [&] { for (int number : numbers.Take()) ... });
//   numbers.Add(7);  // from another thread
template <typename T>
class EventQueue {
 public:
  // Returns a descriptor that is readable while there are events. Pass it to EventLoop::Watch().
  int fd() const { return arrived_.fd(); }

  void Add(T event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(std::move(event));
    arrived_.Set();
  }
  // Removes all events and returns them, the oldest first.
  std::vector<T> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    arrived_.Clear();
    return std::exchange(events_, {});
  }

 private:
  EventFd arrived_;
  std::mutex mutex_;
  std::vector<T> events_;  // guarded by mutex_
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_EVENT_QUEUE_H_
