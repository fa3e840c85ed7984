#ifndef MUSTER_CLIENT_LAUNCHER_EVENT_LOOP_H_
#define MUSTER_CLIENT_LAUNCHER_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>

#include "absl/time/time.h"

namespace muster::launcher {

// Calls a handler when a file descriptor can be read (or its other end has gone). Handlers run in
// the order in which their descriptors became ready, which for pidfds is the order in which the
// processes ended. Not thread-safe.
class EventLoop {
 public:
  using Handler = std::function<void()>;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Does not own `fd`.
  void Watch(int fd, Handler handler);
  // Calls the handler when nobody is left who would read what is written to `fd`, a pipe or socket;
  // of anything else, never. Not beside Watch().
  void WatchReader(int fd, Handler handler);
  // Must come before `fd` is closed.
  void Forget(int fd);

  // Calls the handler once, when SteadyNow() says this time or soon after.
  void At(absl::Time time, Handler handler);

  // Waits until something is ready or `timeout` has passed, and handles what is.
  void Poll(absl::Duration timeout);

 private:
  void Add(int fd, uint32_t events, Handler handler);
  void RunTimers();

  int epoll_fd_;
  std::unordered_map<int, Handler> handlers_;
  std::multimap<absl::Time, Handler> timers_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_EVENT_LOOP_H_
